import { type LabDevice, openDevice } from '../src/gpu/device.ts';
import type { PolicyEngine, PolicyShape } from '../src/policy/engine.ts';
import { createCpuEngine } from '../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../src/policy/webgpu/engine.ts';

/** Where policies will run in this browser; `why` says what stands against WebGPU, and is empty where nothing does. */
export interface DeviceProbe {
  backend: 'webgpu' | 'cpu';
  name: string;
  software: boolean;
  why: string;
}

type Opened = { device: LabDevice; why: '' } | { device: null; why: string };

let opened: Promise<Opened> | undefined;

async function open(): Promise<Opened> {
  try {
    const device = await openDevice(navigator.gpu);
    // A lost device is never used again: the next policy asks for a new one.
    void device.lost.then(() => {
      opened = undefined;
    });
    return { device, why: '' };
  } catch (error) {
    return { device: null, why: error instanceof Error ? error.message : String(error) };
  }
}

/** Opens the device once, or says why there is none. */
export async function probeDevice(): Promise<DeviceProbe> {
  opened ??= open();
  const { device, why } = await opened;
  if (!device) return { backend: 'cpu', name: 'the processor', software: false, why };
  return { backend: 'webgpu', name: device.report.name, software: device.report.software, why };
}

/** A policy on the graphics device, or on the float64 twins where there is none. */
export async function openPolicy(shape: PolicyShape, capacity: number): Promise<PolicyEngine> {
  opened ??= open();
  const { device } = await opened;
  return device ? createWebGpuEngine(device, shape, { capacity }) : createCpuEngine(shape, { capacity });
}
