import { LabError } from '../../base/errors.ts';
import { MemoryCount } from '../../gpu/memory.ts';
import { constantUniforms } from '../../gpu/plan.ts';
import type { PolicyShape } from '../engine.ts';
import { checkWebGpuShape } from '../shape.ts';
import { planLaunches } from './plans.ts';
import { createSamplerBuffers, samplerLaunches, slabOf } from './samplerPlans.ts';
import { createStage, type Part } from './stage.ts';

/** What decides the memory of a policy: its shape, the most tokens of a batch, and how many rollouts decode together. */
export interface MemoryDemand {
  shape: PolicyShape;
  capacity: number;
  /** 0 where nothing is sampled. */
  rollouts: number;
}

/** Bytes of something named. */
export interface MemoryPart {
  name: string;
  bytes: number;
}

/** What a policy will hold on the device. */
export interface MemoryPlan extends MemoryDemand {
  total: number;
  /** Largest first; they add up to the total. */
  parts: MemoryPart[];
  /** The largest single buffer: what a device's limits are held against. */
  largest: MemoryPart;
}

/**
 * Plans the memory of a WebGPU policy, and of one sampler for `rollouts` where that is above 0, without a device: the code
 * that allocates runs against a count, so that the total is what `WebGpuEngine.bytes` will be. A truncated `evaluate`
 * takes up to 17 MiB more while it is used, a grammar its own size.
 * @throws LabError on a shape that cannot be built.
 */
export function planMemory(
  shape: PolicyShape,
  { capacity, rollouts = 0 }: { capacity: number; rollouts?: number },
): MemoryPlan {
  checkWebGpuShape(shape);
  const memory = new MemoryCount();
  const parts: MemoryPart[] = [];
  const part: Part = (name, make) => {
    const before = memory.bytes;
    const made = make();
    parts.push({ name, bytes: memory.bytes - before });
    return made;
  };
  // Sizes do not depend on the device: any tile plans the same memory.
  const built = createStage(memory, shape, capacity, { software: false, quads: false }, part);
  const { logits, ...launches } = planLaunches(built);
  for (const list of [...Object.values(launches), ...logits]) constantUniforms(memory, list);
  if (rollouts > 0) {
    const buffers = part('sampler and key/value cache', () =>
      createSamplerBuffers(memory, shape, rollouts, slabOf(rollouts)),
    );
    const { products, parameters, turns } = built.stage;
    const stage = { software: false, shape, products, parameters, turns, buffers, rollouts };
    for (const list of Object.values(samplerLaunches(stage))) constantUniforms(memory, list);
  }
  const named = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  parts.push({ name: 'tables and constants', bytes: memory.bytes - named });
  parts.sort((a, b) => b.bytes - a.bytes);
  return { shape, capacity, rollouts, total: memory.bytes, parts, largest: memory.largest };
}

/** What a device grants: the largest buffer, and the largest that a kernel may bind; all memory, where that is known. */
export interface MemoryLimits {
  maxBufferSize: number;
  maxStorageBufferBindingSize: number;
  total?: number;
}

/**
 * Refuses a plan that does not fit.
 * @throws LabError that says what to lower, and to what: the tokens a step, else the rollouts, else the width.
 */
export function checkMemory(plan: MemoryPlan, limits: MemoryLimits): void {
  if (fits(plan, limits)) return;
  const largest = mostBytes(limits);
  const why =
    plan.largest.bytes > largest
      ? `${plan.largest.name} alone need ${size(plan.largest.bytes)}, and one buffer of this device holds ${size(largest)}`
      : `this device has ${size(limits.total ?? 0)}`;
  throw new LabError(`${describeMemory(plan)}: ${why}`, { where: 'memory', remedy: remedy(plan, limits) });
}

const mostBytes = ({ maxBufferSize, maxStorageBufferBindingSize }: MemoryLimits): number =>
  Math.min(maxBufferSize, maxStorageBufferBindingSize);

const fits = ({ total, largest }: MemoryPlan, limits: MemoryLimits): boolean =>
  largest.bytes <= mostBytes(limits) && total <= (limits.total ?? Infinity);

/** The one change that suffices, in the order in which it costs least. */
function remedy(plan: MemoryPlan, limits: MemoryLimits): string {
  const { shape, capacity, rollouts } = plan;
  const tokens = largestFitting(64, capacity, 64, (c) =>
    fits(planMemory(shape, { capacity: c, rollouts }), limits),
  );
  if (tokens) return `lower the tokens a step to ${grouped(tokens)} or the width`;
  const fewer = largestFitting(1, rollouts, 1, (r) =>
    fits(planMemory(shape, { capacity, rollouts: r }), limits),
  );
  if (fewer) return `lower the rollouts decoded together to ${grouped(fewer)} or the context`;
  const step = shape.heads * 4;
  const width = largestFitting(step, shape.width, step, (w) => {
    const hidden = Math.max(4, Math.round((shape.hidden * w) / shape.width / 4) * 4);
    return fits(planMemory({ ...shape, width: w, hidden }, { capacity, rollouts }), limits);
  });
  if (width) return `lower the width to ${grouped(width)}`;
  return 'lower the tokens a step, the context, the vocabulary and the width';
}

/** The largest of from, from + step, … below `to` that fits; 0 where none does. What fits, fits with less. */
function largestFitting(
  from: number,
  to: number,
  step: number,
  suffices: (value: number) => boolean,
): number {
  let low = 0;
  let high = Math.ceil((to - from) / step);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (suffices(from + middle * step)) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : from + (low - 1) * step;
}

/** One sentence for a page or a terminal: "needs 310 MB". */
export const describeMemory = ({ total }: MemoryPlan): string => `needs ${size(total)}`;

/** Bytes in the words of a reader, decimal units. */
function size(bytes: number): string {
  const [value, unit] =
    bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${value < 10 ? value.toFixed(1) : grouped(Math.round(value))} ${unit}`;
}

const grouped = (value: number): string => value.toLocaleString('en-US');
