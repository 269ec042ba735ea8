import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import { pack } from '../../src/policy/batch.ts';
import type { PackedBatch, PolicyShape } from '../../src/policy/engine.ts';
import { layout, parameterCount } from '../../src/policy/layout.ts';
import { PRESETS, type PresetSize, presetFor } from '../../src/policy/presets.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { checkMemory, planMemory } from '../../src/policy/webgpu/memoryPlan.ts';
import { openTestDevice } from '../kernel/device.ts';
import { GRADIENT, relativeError } from '../kernel/harness.ts';
import { stepOptions } from './twin/copyTask.ts';

const SIZES = Object.keys(PRESETS) as PresetSize[];
const DEFAULTS = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 };
const COUNT = { k: 1e3, M: 1e6 };

function sequence(rng: Rng, length: number, vocab: number, trained: number): PackedBatch {
  const tokens = Array.from({ length }, () => rng.int(vocab));
  return pack([{ tokens, weights: tokens.map(() => (rng.chance(trained) ? 0.5 + rng.float() : 0)) }]);
}

describe('presets', () => {
  it.each(SIZES)('%s has about as many parameters as its name says', (size) => {
    const said = Number.parseInt(size, 10) * COUNT[size.at(-1) as 'k' | 'M'];
    expect(Math.abs(parameterCount(PRESETS[size].shape) / said - 1)).toBeLessThan(0.12);
    expect(PRESETS[size].capacity).toBeGreaterThanOrEqual(PRESETS[size].shape.context);
  });

  it.each(SIZES)(
    '%s fits the limits that every device grants, with the largest vocabulary and context too',
    (size) => {
      const largest = presetFor(size, { vocab: 32_768, context: 2048 });
      for (const { shape, capacity, rollouts } of [PRESETS[size], largest])
        checkMemory(planMemory(shape, { capacity, rollouts }), DEFAULTS);
      expect(largest.capacity).toBeGreaterThanOrEqual(2048);
    },
  );

  it('refuses what is beyond them', () => {
    expect(() => presetFor('1M', { vocab: 40_000 })).toThrow(/vocab is 40000/);
    expect(() => presetFor('1M', { context: 4096 })).toThrow(LabError);
    expect(() => presetFor('1M', { context: 0.5 })).toThrow(LabError);
  });
});

describe('large shapes in WGSL', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each(['20k', '100k'] as const)('%s lowers the loss of a batch by training on it', async (size) => {
    const { shape } = PRESETS[size];
    const engine = await createWebGpuEngine(device, shape, { capacity: shape.context });
    const batch = sequence(new Rng(size), shape.context, shape.vocab, 1);
    for (let step = 0; step < 3; step++) engine.train(batch, stepOptions);
    const losses = (await engine.stats()).map(({ loss }) => loss);
    expect(losses[0]).toBeCloseTo(Math.log(shape.vocab), 0);
    expect(losses[2]).toBeLessThan(losses[0]! - 0.1);
    engine.destroy();
  });

  const large: { name: string; shape: PolicyShape; length: number; trained: number }[] = [
    {
      name: 'a vocabulary of 32,768',
      shape: { vocab: 32_768, width: 16, layers: 1, heads: 2, hidden: 44, mlp: 'swiglu', context: 64 },
      length: 50,
      trained: 0.5,
    },
    {
      name: 'a context of 2,048',
      shape: { vocab: 64, width: 16, layers: 2, heads: 2, hidden: 64, context: 2048 },
      length: 2048,
      trained: 0.3,
    },
  ];
  it.each(large)('has the loss and gradients of the twins at $name', async ({ shape, length, trained }) => {
    // So large that logits come in tiles of 1,024.
    const engine = await createWebGpuEngine(device, shape, { capacity: 4096 });
    const twin = createCpuEngine(shape);
    const batch = sequence(new Rng(length), length, shape.vocab, trained);
    for (const policy of [engine, twin])
      policy.train(batch, { ...stepOptions, beta1: 0, clip: Number.POSITIVE_INFINITY });
    const [[mine], [reference]] = [await engine.stats(), await twin.stats()];
    expect(Math.abs(mine!.loss / reference!.loss - 1)).toBeLessThan(GRADIENT);
    const [gradient, expected] = [(await engine.save()).moment1, (await twin.save()).moment1];
    for (const { name, offset, size } of layout(shape).tensors) {
      const part = (values: Float32Array) => values.subarray(offset, offset + size);
      expect(relativeError(part(gradient), part(expected)), name).toBeLessThan(GRADIENT);
    }
    engine.destroy();
  });
});
