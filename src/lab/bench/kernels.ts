import type { BenchRow } from './row.ts';
import type { Dispatch } from './tracer.ts';
import { type WorkContext, workOf } from './work.ts';

/** What the device can do at most: floating-point operations and bytes a second. */
export interface Rates {
  flops: number;
  bytes: number;
}

/** Least milliseconds that a measurement lasts, and most dispatches in it. */
const LASTS = 12;
const MOST = 128;
/** Times that a dispatch of a sampling step is repeated in one measurement. */
export const REPEATS = 24;

/**
 * Milliseconds of one dispatch by itself: so many of it in one submit that the measurement lasts long enough to be read
 * off a clock, the best of `rounds`. The buffers hold whatever the dispatch makes of its own results.
 */
export async function timeDispatch(device: GPUDevice, dispatch: Dispatch, rounds: number): Promise<number> {
  const run = async (count: number) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (let i = 0; i < count; i++) dispatch.encode(pass);
    pass.end();
    const began = performance.now();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    return (performance.now() - began) / count;
  };
  const first = await run(1);
  const count = Math.min(MOST, Math.max(1, Math.ceil(LASTS / first)));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) best = Math.min(best, await run(count));
  return best;
}

/** A dispatch with its time. */
export interface TimedDispatch {
  dispatch: Dispatch;
  milliseconds: number;
}

/**
 * One row a kernel, the dispatches of a step added up, in the order in which they come first. The floor of a dispatch is
 * the larger of its two; a kernel whose work is unknown has none.
 */
export function kernelRows(
  group: string,
  times: readonly TimedDispatch[],
  context: WorkContext,
  rates: Rates,
): BenchRow[] {
  const rows = new Map<string, BenchRow & { dispatches: number }>();
  for (const { dispatch, milliseconds } of times) {
    const name = dispatch.kernel;
    const row = rows.get(name) ?? {
      group,
      name,
      value: 0,
      unit: 'ms',
      floor: null,
      share: null,
      dispatches: 0,
      against: {},
    };
    row.value += milliseconds;
    row.dispatches += 1;
    const work = workOf(dispatch, context);
    if (work) {
      const arithmetic = (work.flops / rates.flops) * 1000;
      const bytes = (work.bytes / rates.bytes) * 1000;
      const sum = row.floors ?? { arithmetic: 0, bytes: 0 };
      row.floors = { arithmetic: sum.arithmetic + arithmetic, bytes: sum.bytes + bytes };
      row.floor = (row.floor ?? 0) + Math.max(arithmetic, bytes);
      row.share = row.floor / row.value;
    }
    rows.set(name, row);
  }
  return [...rows.values()];
}
