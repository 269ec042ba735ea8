import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import { pack } from '../../src/policy/batch.ts';
import type { PolicyEngine, PolicyShape } from '../../src/policy/engine.ts';
import { stepFlops } from '../../src/policy/flops.ts';
import { layout, parameterCount } from '../../src/policy/layout.ts';
import { checkShape, sameShape } from '../../src/policy/shape.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { backward, forward, loss } from '../../src/policy/twin/model.ts';
import { swiglu, swigluBackward } from '../../src/policy/twin/swiglu.ts';
import { weightsOf } from '../../src/policy/twin/weights.ts';
import { allocate } from '../../src/policy/twin/workspace.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../kernel/device.ts';
import { FORWARD, GRADIENT, relativeError } from '../kernel/harness.ts';
import { stepOptions } from './twin/copyTask.ts';
import { dot, poisoned, raggedBatch, randomReals, worstDifference } from './twin/differences.ts';

const SHAPE: PolicyShape = {
  vocab: 13,
  width: 16,
  layers: 2,
  heads: 4,
  hidden: 44,
  mlp: 'swiglu',
  context: 24,
};

describe('a gated MLP', () => {
  it('has 3·D·F weights a layer, gates before ups, and their share of the operations', () => {
    const gelu = { ...SHAPE, mlp: 'gelu' } as const;
    expect(layout(SHAPE).tensors.find(({ name }) => name === '1.up')?.shape).toEqual([88, 16]);
    expect(parameterCount(SHAPE) - parameterCount(gelu)).toBe(2 * 44 * 16);
    const batch = pack([{ tokens: [1, 2, 3], weights: [1, 1, 0] }]);
    // Three rows of the first layer and the two trained ones of the last.
    expect(stepFlops(SHAPE, batch) - stepFlops(gelu, batch)).toBe(3 * 2 * (3 + 2) * 44 * 16);
    expect(() => checkShape({ ...SHAPE, mlp: 'relu' as 'gelu' })).toThrow(LabError);
    const { mlp: _, ...unnamed } = SHAPE;
    expect(sameShape(unnamed, gelu)).toBe(true);
    expect(sameShape(unnamed, SHAPE)).toBe(false);
  });

  it('is silu(gate)·up, finite at the ends, and swigluBackward its gradient', () => {
    const y = poisoned(2);
    swiglu(Float64Array.of(-800, 3, 2, 0.5), y, { n: 1, f: 2 });
    expect(y[0]).toBeCloseTo(0, 12);
    expect(y[1]).toBeCloseTo((3 / (1 + Math.exp(-3))) * 0.5, 12);
    const rng = new Rng('gate');
    const size = { n: 7, f: 5 };
    const x = randomReals(rng, 70, 2);
    const dy = randomReals(rng, 35);
    const dx = poisoned(70);
    swigluBackward(x, dy, dx, size);
    const out = poisoned(35);
    const value = () => {
      swiglu(x, out, size);
      return dot(out, dy);
    };
    expect(worstDifference(x, dx, value)).toBeLessThan(1e-6);
    swigluBackward(x, dy, x, size);
    expect(x).toEqual(dx);
  });

  it('gives the whole model the gradient of its loss, in every parameter', () => {
    const shape = { ...SHAPE, vocab: 6, width: 8, heads: 2, hidden: 12 };
    const rng = new Rng(11);
    const batch = raggedBatch(rng, [4, 1, 6], shape.vocab);
    const flat = new Float64Array(parameterCount(shape));
    for (const { offset, size } of layout(shape).tensors) flat.set(randomReals(rng, size, 0.5), offset);
    const gradient = new Float64Array(flat.length);
    const space = allocate(shape, batch.tokens.length);
    const weights = weightsOf(shape, flat);
    const value = () => {
      forward(shape, weights, batch, space);
      return loss(shape, weights, batch, space);
    };
    value();
    backward(shape, weights, batch, space, weightsOf(shape, gradient));
    expect(worstDifference(flat, gradient, value, 2e-4)).toBeLessThan(1e-6);
  });
});

describe('a gated policy in WGSL', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  /** Both engines with the same weights, sharper than fresh ones so that logits differ by more than rounding. */
  async function pair(): Promise<[PolicyEngine, PolicyEngine]> {
    const twin = createCpuEngine(SHAPE);
    const saved = await twin.save();
    const parameters = saved.parameters.map((w) => (w === 1 ? 1 : 8 * w));
    twin.load({ ...saved, parameters });
    const engine = await createWebGpuEngine(device, SHAPE, { capacity: 128 });
    engine.load(await twin.save());
    return [engine, twin];
  }

  it('has the losses, logits and gradients of the twins', async () => {
    const [engine, twin] = await pair();
    const { positions: _, ...batch } = raggedBatch(new Rng('gated'), [1, 2, 24, 7, 1, 19, 24], SHAPE.vocab);
    expect(relativeError(await engine.logits(batch), [...(await twin.logits(batch))])).toBeLessThan(FORWARD);
    for (const policy of [engine, twin])
      policy.train(batch, { ...stepOptions, beta1: 0, clip: Number.POSITIVE_INFINITY });
    const [mine, reference] = [await engine.save(), await twin.save()];
    for (const { name, offset, size } of layout(SHAPE).tensors) {
      const part = (values: Float32Array) => values.subarray(offset, offset + size);
      expect(relativeError(part(mine.moment1), [...part(reference.moment1)]), name).toBeLessThan(GRADIENT);
    }
    engine.destroy();
  });

  it('samples greedily what both engines say of the sequence as a whole', async () => {
    for (const policy of await pair()) {
      const sampler = policy.sampler(3);
      const inputs = [[1, 2, 3], [4], [5, 6]];
      const said = await sampler.turn(inputs, { stop: 0, limit: 6, temperature: 0, seed: 1 });
      for (const [r, input] of inputs.entries()) {
        const tokens = [...input, ...said[r]!.tokens];
        const logits = await policy.logits(pack([{ tokens, weights: tokens.map(() => 0) }]));
        for (let at = input.length; at < tokens.length; at++) {
          const row = logits.subarray((at - 1) * SHAPE.vocab, at * SHAPE.vocab);
          expect(tokens[at]).toBe(row.indexOf(Math.max(...row)));
        }
      }
      policy.destroy();
    }
  });
});
