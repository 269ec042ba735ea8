import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { type TrainingSequence, pack } from '../../../src/policy/batch.ts';
import type { PolicyShape, StepOptions } from '../../../src/policy/engine.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';

const OPTIONS: StepOptions = {
  learningRate: 3e-3,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clip: 1,
};

const SHAPE: PolicyShape = { vocab: 13, width: 16, layers: 2, heads: 4, hidden: 64, context: 24 };

/** Sequences "a b c | a b c": the second half can be learned, the first cannot and has weight 0. */
function copyTask(rng: Rng, count: number, vocab: number): TrainingSequence[] {
  return Array.from({ length: count }, () => {
    const half = Array.from({ length: 4 }, () => 1 + rng.int(vocab - 1));
    return { tokens: [...half, 0, ...half], weights: [0, 0, 0, 0, 1, 1, 1, 1, 0] };
  });
}

describe('the WebGPU policy', () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  });
  afterAll(() => device.destroy());

  it('learns to copy', async () => {
    const engine = await createWebGpuEngine(device, SHAPE, { capacity: 512 });
    const rng = new Rng('copy');
    engine.initialise(1);
    for (let step = 0; step < 150; step++) engine.train(pack(copyTask(rng, 40, SHAPE.vocab)), OPTIONS);
    const stats = await engine.stats();
    expect(stats).toHaveLength(150);
    expect(stats[0]!.loss).toBeCloseTo(Math.log(SHAPE.vocab), 1);
    expect(stats.at(-1)!.loss).toBeLessThan(1.2);
    expect(stats.map((s) => s.step)).toEqual(Array.from({ length: 150 }, (_, i) => i + 1));
    engine.destroy();
  });
});
