import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import type { PackedBatch, PolicyShape } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { raggedBatch } from '../twin/differences.ts';
import { byJax, byTwins, type Differentiated, livelyParameters, twinLoss, worstByTensor } from './models.ts';

/** Twins and jax-js both compute in float64, but jax-js rounds constants to float32. */
const SAME_ARITHMETIC = 3e-7;
const FLOAT32 = 1e-4;
const DIFFERENCES = 1e-6;

interface Case {
  name: string;
  shape: PolicyShape;
  flat: Float64Array;
  batch: PackedBatch;
  rng: Rng;
}

/** A small policy and a packed batch, all of them drawn: sizes, sequence lengths, weights (a third of them 0). */
function drawCase(seed: number, mlp: 'gelu' | 'swiglu'): Case {
  const rng = new Rng(seed).fork(`oracle ${mlp}`);
  const heads = rng.pick([1, 2, 3]);
  const width = heads * rng.pick([4, 8]);
  const context = 10;
  const shape: PolicyShape = {
    vocab: 5 + rng.int(9),
    width,
    layers: 1 + rng.int(2),
    heads,
    hidden: 4 * (2 + rng.int(5)),
    context,
    mlp,
  };
  const lengths = Array.from({ length: 2 + rng.int(3) }, () => 1 + rng.int(context));
  const batch = raggedBatch(rng, lengths, shape.vocab);
  const { vocab, layers, hidden } = shape;
  const name = `${mlp}, V ${vocab}, D ${width}, ${layers}×${heads} heads, F ${hidden}, sequences ${lengths}`;
  return { name, shape, flat: livelyParameters(shape, rng), batch, rng };
}

const cases = ([1, 2, 3] as const).flatMap((seed) => [drawCase(seed, 'gelu'), drawCase(seed, 'swiglu')]);

describe.each(cases)('gradient of the whole model: $name', ({ shape, flat, batch, rng }) => {
  let twins: Differentiated;
  let oracle: Differentiated;
  beforeAll(async () => {
    twins = byTwins(shape, flat, batch);
    oracle = await byJax(shape, flat, batch);
  });

  it('has something of every tensor', () => {
    for (const { offset, size } of layout(shape).tensors)
      expect(Math.max(...oracle.gradient.subarray(offset, offset + size).map(Math.abs))).toBeGreaterThan(
        1e-4,
      );
  });

  it('is by the twins what jax-js derives', () => {
    expect(Math.abs(twins.loss - oracle.loss)).toBeLessThan(SAME_ARITHMETIC * oracle.loss);
    for (const [name, worst] of Object.entries(worstByTensor(shape, twins.gradient, oracle.gradient)))
      expect(worst, name).toBeLessThan(SAME_ARITHMETIC);
  });

  it('is the slope of the loss along random directions, tensor by tensor and in all', () => {
    const { tensors, count } = layout(shape);
    const value = twinLoss(shape, flat, batch);
    for (const { name, offset, size } of [...tensors, { name: 'all', offset: 0, size: count }]) {
      const held = flat.slice();
      const directions = flat.map((_, i) => {
        const inside = i >= offset && i < offset + size;
        return inside && tensors.some((t) => i >= t.offset && i < t.offset + t.size) ? rng.float() - 0.5 : 0;
      });
      const at = (step: number) => {
        for (let i = 0; i < flat.length; i++) flat[i] = held[i]! + step * directions[i]!;
        return value();
      };
      const h = 1e-3;
      const slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      flat.set(held);
      const product = twins.gradient.reduce((sum, g, i) => sum + g * directions[i]!, 0);
      const size2 = Math.sqrt(twins.gradient.reduce((sum, g, i) => sum + (directions[i] ? g * g : 0), 0));
      expect(Math.abs(slope - product), name).toBeLessThan(DIFFERENCES * Math.max(size2, 1e-3));
    }
  });

  it('is by the kernels what jax-js derives', async () => {
    const engine = await createWebGpuEngine(device!, shape, { capacity: batch.tokens.length });
    try {
      const zeros = new Float32Array(flat.length);
      engine.load({
        shape,
        step: 0,
        parameters: Float32Array.from(flat),
        moment1: zeros,
        moment2: zeros,
      });
      // With β1 = 0 and no clipping the first moment is the gradient itself.
      engine.train(batch, {
        learningRate: 0,
        beta1: 0,
        beta2: 0.9,
        epsilon: 1e-8,
        weightDecay: 0,
        clip: Number.POSITIVE_INFINITY,
      });
      const [stats] = await engine.stats();
      const { moment1 } = await engine.save();
      expect(Math.abs(stats!.loss - oracle.loss)).toBeLessThan(FLOAT32 * oracle.loss);
      for (const [name, worst] of Object.entries(worstByTensor(shape, moment1, oracle.gradient)))
        expect(worst, name).toBeLessThan(FLOAT32);
    } finally {
      engine.destroy();
    }
  });
});

let device: LabDevice | undefined;
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => device?.destroy());
