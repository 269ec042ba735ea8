import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import { pack, type TrainingSequence } from '../../src/policy/batch.ts';
import type { PolicyEngine, PolicyShape } from '../../src/policy/engine.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../kernel/device.ts';
import { GRADIENT, relativeError } from '../kernel/harness.ts';
import { stepOptions } from './twin/copyTask.ts';

const SHAPE: PolicyShape = { vocab: 13, width: 16, layers: 2, heads: 4, hidden: 32, context: 24 };
const OPTIONS = { ...stepOptions, beta1: 0, clip: Number.POSITIVE_INFINITY };

/** Ragged sequences whose weights lie between 0 and `most`; a third of them 0. */
function sequences(rng: Rng, count: number, most: number): TrainingSequence[] {
  return Array.from({ length: count }, () => {
    const tokens = Array.from({ length: 1 + rng.int(23) }, () => rng.int(SHAPE.vocab));
    return { tokens, weights: tokens.map(() => (rng.chance(0.35) ? 0 : most * rng.float())) };
  });
}

/** Micro-batches of very uneven weight and length, one of which trains nothing, first or in the middle. */
const uneven = (seed: string): TrainingSequence[][] => {
  const rng = new Rng(seed);
  const idle = { tokens: [1, 2, 3], weights: [0, 0, 0] };
  return [[idle], sequences(rng, 7, 100), sequences(rng, 1, 1e-3), [idle, idle], sequences(rng, 3, 1)];
};

const backends = [
  // Float64 sums, stored as float32; float32 sums in another order.
  { name: 'the twins', bound: 1e-6, open: async () => createCpuEngine(SHAPE) },
  {
    name: 'WebGPU',
    bound: GRADIENT,
    open: (device: LabDevice) => createWebGpuEngine(device, SHAPE, { capacity: 256 }),
  },
];

describe('micro-batches', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  describe.each(backends)('on $name', ({ open, bound }) => {
    let engine: PolicyEngine;
    beforeAll(async () => {
      engine = await open(device);
    }, 120_000);
    afterAll(() => engine?.destroy());

    /** One step from fresh weights; with β1 = 0 and no clipping the first moment is the gradient. */
    const step = async (batch: Parameters<PolicyEngine['train']>[0], options = OPTIONS) => {
      engine.initialise(4);
      engine.train(batch, options);
      const [stats] = await engine.stats();
      return { stats: stats!, saved: await engine.save() };
    };

    it.each(['a', 'b'])('have the gradient, loss and norm of one batch of all, seed %s', async (seed) => {
      const parts = uneven(seed);
      const whole = await step(pack(parts.flat()));
      const split = await step(parts.map(pack));
      expect(relativeError(split.saved.moment1, [...whole.saved.moment1])).toBeLessThan(bound);
      expect(split.stats).toMatchObject({
        step: 1,
        tokens: whole.stats.tokens,
        trained: whole.stats.trained,
      });
      expect(Math.abs(split.stats.loss / whole.stats.loss - 1)).toBeLessThan(bound);
      expect(Math.abs(split.stats.gradientNorm / whole.stats.gradientNorm - 1)).toBeLessThan(bound);
    });

    it('clip by the norm of the whole', async () => {
      const clip = 1e-3;
      const { stats, saved } = await step(uneven('clip').map(pack), { ...OPTIONS, clip });
      expect(stats.gradientNorm).toBeGreaterThan(100 * clip);
      const norm = Math.hypot(...saved.moment1);
      expect(norm / clip).toBeCloseTo(1, 4);
    });

    it('give the same bits twice, and those of a plain step where one of them trains', async () => {
      const parts = uneven('bits').map(pack);
      expect(await step(parts)).toEqual(await step(parts));
      const alone = await step(parts[1]!);
      const accompanied = await step([parts[0]!, parts[1]!, parts[3]!]);
      expect(accompanied.saved).toEqual(alone.saved);
    });

    it('do not leak into the next step', async () => {
      const parts = uneven('leak').map(pack);
      engine.initialise(4);
      engine.train(parts, { ...OPTIONS, learningRate: 0 });
      engine.train(parts[1]!, { ...OPTIONS, learningRate: 0 });
      const [, second] = await engine.stats();
      const { stats } = await step(parts[1]!);
      expect(second!.loss).toBe(stats.loss);
      expect(second!.gradientNorm).toBe(stats.gradientNorm);
    });

    it('are refused before anything changes', async () => {
      const good = pack(uneven('bad')[1]!);
      const idle = pack([{ tokens: [1, 2], weights: [0, 0] }]);
      const before = await engine.save();
      expect(() => engine.train([], OPTIONS)).toThrow(/no micro-batch/);
      expect(() => engine.train([idle, idle], OPTIONS)).toThrow(/nothing to train/);
      expect(() => engine.train([good, pack([])], OPTIONS)).toThrow(LabError);
      const far = { ...good, tokens: good.tokens.map((_, i) => (i === 2 ? 99 : 0)) };
      try {
        engine.train([good, far], OPTIONS);
        expect.unreachable();
      } catch (error) {
        expect(String(error)).toMatch(/^batches\[1\]\.tokens\[2\]: token id 99/);
      }
      expect(await engine.save()).toEqual(before);
      expect(await engine.stats()).toEqual([]);
    });
  });
});
