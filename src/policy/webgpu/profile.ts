import type { Plan, Sizes } from '../../gpu/plan.ts';

/** How long one dispatch takes. */
export interface DispatchTime {
  kernel: string;
  milliseconds: number;
}

/** Times every dispatch of the plans alone: `repeats` of it in one submit, after one to warm up. */
export async function profilePlans(
  device: GPUDevice,
  plans: readonly Plan[],
  sizes: Sizes,
  repeats: number,
): Promise<DispatchTime[]> {
  const times: DispatchTime[] = [];
  for (const plan of plans)
    for (const [index, kernel] of plan.labels.entries()) {
      await runAlone(device, plan, index, sizes, 1);
      const begun = performance.now();
      await runAlone(device, plan, index, sizes, repeats);
      times.push({ kernel, milliseconds: (performance.now() - begun) / repeats });
    }
  return times;
}

async function runAlone(
  device: GPUDevice,
  plan: Plan,
  index: number,
  sizes: Sizes,
  repeats: number,
): Promise<void> {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (let i = 0; i < repeats; i++) plan.encode(pass, sizes, index);
  pass.end();
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
}
