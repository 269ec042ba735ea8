import { type LabDevice, openDevice } from '../../gpu/device.ts';
import { cpuName } from '../../policy/wasm/open.ts';
import type { BenchDevice, BenchEvent } from './event.ts';
import { measureEngine } from './measure.ts';
import type { LoadRuntime } from './peers/ortPeer.ts';
import type { BenchPlan } from './plan.ts';

/** The device of a table, as the table names it. */
export const describeDevice = (device: LabDevice | null): BenchDevice =>
  device
    ? {
        backend: 'webgpu',
        name: device.report.name,
        limits: device.report.limits,
        features: device.report.features,
      }
    : { backend: 'cpu', name: cpuName(), limits: {}, features: [] };

/**
 * Measures the engine where this code runs: opens a device of its own, or takes the processor where there is none and says
 * why, and gives the device back at the end.
 */
export async function* measureHere(
  gpu: GPU | undefined,
  plan: BenchPlan,
  loadRuntime: LoadRuntime,
): AsyncGenerator<BenchEvent> {
  let device: LabDevice | null = null;
  try {
    device = await openDevice(gpu);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    yield { type: 'remark', text: `Measured on the processor: ${why}` };
  }
  try {
    yield { type: 'device', device: describeDevice(device) };
    yield* measureEngine(device, plan, loadRuntime);
  } finally {
    device?.destroy();
  }
}
