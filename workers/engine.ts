import { DeviceSlot } from '../src/gpu/slot.ts';
import type { PolicyEngine, PolicyShape } from '../src/policy/engine.ts';
import { cpuName, openCpuEngine } from '../src/policy/wasm/open.ts';
import { createWebGpuEngine } from '../src/policy/webgpu/engine.ts';

/** What policies are to run on: `auto` takes a real graphics device, and the processor where there is none. */
export type DeviceChoice = 'auto' | 'webgpu' | 'cpu';

/** Where policies will run in this browser. */
export interface DeviceProbe {
  backend: 'webgpu' | 'cpu';
  name: string;
  /** The graphics device that WebGPU offers, whether it is used or not; `null` where there is none. */
  graphics: { name: string; software: boolean } | null;
  /** Why there is no graphics device; '' where there is one. */
  why: string;
}

const slot = new DeviceSlot(() => navigator.gpu);
/** Why there is no device here; '' where there is one, `null` before it was tried. */
let why: string | null = null;

/** Opens the device, or says why there is none. */
export async function probeDevice(choice: DeviceChoice): Promise<DeviceProbe> {
  const cpu = { backend: 'cpu' as const, name: cpuName() };
  try {
    const { name, software } = (await slot.get()).report;
    why = '';
    const graphics = { name, software };
    // A device in software is the same processor, used less well: by 7 to 16 times where it was measured (README, Engine).
    const processor = choice === 'cpu' || (choice === 'auto' && software);
    return { ...(processor ? cpu : { backend: 'webgpu', name }), graphics, why };
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
    return { ...cpu, graphics: null, why };
  }
}

/** Hears of what ended the learning here; a device that failed is not used again. @returns the error to throw. */
export const failed = (error: unknown) => slot.failed(error);

/** A policy on the graphics device, or on the processor where there is none or the choice is so. */
export async function openPolicy(
  choice: DeviceChoice,
  shape: PolicyShape,
  capacity: number,
): Promise<PolicyEngine> {
  if (choice === 'cpu') return openCpuEngine(shape, { capacity });
  if (why === null) await probeDevice(choice);
  // Once there was a device, the processor does not silently take over: its results differ in the last bits.
  if (!slot.had) return openCpuEngine(shape, { capacity });
  const device = await slot.get();
  if (choice === 'auto' && device.report.software) return openCpuEngine(shape, { capacity });
  return createWebGpuEngine(device, shape, { capacity });
}
