/** How a device ended. */
export interface DeviceLoss {
  /** True where this code destroyed it: no reason to recover. */
  own: boolean;
  message: string;
}

/** What a device is and may do, for the page and for the record of a run. */
export interface DeviceReport {
  /** Vendor and architecture as the adapter states them. */
  name: string;
  limits: Record<string, number>;
  features: string[];
  /** True for a software rasteriser, where kernels run on the processor. */
  software: boolean;
  /** True where subgroups are open to kernels and have exactly 4 lanes. */
  quads: boolean;
}
