import { DeviceSlot } from '../src/gpu/slot.ts';
import type { PolicyEngine, PolicyShape } from '../src/policy/engine.ts';
import { cpuName, openCpuEngine } from '../src/policy/wasm/open.ts';
import { createWebGpuEngine } from '../src/policy/webgpu/engine.ts';

/** Where policies will run in this browser; `why` says what stands against WebGPU, and is empty where nothing does. */
export interface DeviceProbe {
  backend: 'webgpu' | 'cpu';
  name: string;
  software: boolean;
  why: string;
}

const slot = new DeviceSlot(() => navigator.gpu);
/** Why there is no device here; '' where there is one, `null` before it was tried. */
let why: string | null = null;

/** Opens the device, or says why there is none. */
export async function probeDevice(): Promise<DeviceProbe> {
  try {
    const { report } = await slot.get();
    why = '';
    return { backend: 'webgpu', name: report.name, software: report.software, why };
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
    return { backend: 'cpu', name: cpuName(), software: false, why };
  }
}

/** Hears of what ended the learning here; a device that failed is not used again. @returns the error to throw. */
export const failed = (error: unknown) => slot.failed(error);

/** A policy on the graphics device, or on the processor where there is none. */
export async function openPolicy(shape: PolicyShape, capacity: number): Promise<PolicyEngine> {
  if (why === null) await probeDevice();
  // Once there was a device, the processor does not silently take over: its results differ in the last bits.
  if (!slot.had) return openCpuEngine(shape, { capacity });
  return createWebGpuEngine(await slot.get(), shape, { capacity });
}
