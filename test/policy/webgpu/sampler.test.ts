import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { PolicyEngine, PolicyShape, TurnOptions } from '../../../src/policy/engine.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { createWebGpuEngine, type WebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import type { WebGpuSampler } from '../../../src/policy/webgpu/sampler.ts';
import { openTestDevice } from '../../kernel/device.ts';

const SHAPE: PolicyShape = { vocab: 29, width: 16, layers: 2, heads: 2, hidden: 32, context: 48 };
const GREEDY: TurnOptions = { stop: 0, limit: 8, temperature: 0, seed: 1 };

/** Rows of logits of one sequence. */
async function teacherForced(engine: PolicyEngine, tokens: readonly number[]): Promise<Float32Array[]> {
  const batch = pack([{ tokens, weights: tokens.map(() => 0) }]);
  const logits = await engine.logits(batch);
  return tokens.map((_, i) => logits.subarray(i * SHAPE.vocab, (i + 1) * SHAPE.vocab));
}

const argmax = (row: Float32Array): number => row.reduce((best, z, i) => (z > row[best]! ? i : best), 0);

describe('the WebGPU sampler', { timeout: 120_000 }, () => {
  let device: LabDevice;
  let engine: WebGpuEngine;
  beforeAll(async () => {
    device = await openTestDevice();
    engine = await createWebGpuEngine(device, SHAPE, { capacity: 256 });
    // Sharper than fresh weights, so that logits differ by more than rounding.
    const saved = await engine.save();
    engine.load({ ...saved, parameters: saved.parameters.map((w) => (w === 1 ? 1 : 8 * w)) });
  }, 120_000);
  afterAll(() => {
    engine?.destroy();
    device?.destroy();
  });

  const prompts = (rng: Rng, count: number) =>
    Array.from({ length: count }, () => Array.from({ length: 1 + rng.int(9) }, () => rng.int(SHAPE.vocab)));

  it('picks what the teacher-forced logits say, over several turns', async () => {
    const sampler = engine.sampler(9);
    const rng = new Rng('turns');
    const whole: number[][] = Array.from({ length: 9 }, () => []);
    for (let turn = 0; turn < 3; turn++) {
      const inputs = prompts(rng, 9).map((input, r) => (turn > 0 && r % 3 === turn ? null : input));
      const sampled = await sampler.turn(inputs, { ...GREEDY, limit: 5, seed: turn });
      for (const [r, input] of inputs.entries()) {
        if (input === null) {
          expect(sampled[r]).toEqual({ tokens: [], logProbs: [] });
          continue;
        }
        const held = whole[r]!.length + input.length;
        const { tokens } = sampled[r]!;
        whole[r]!.push(...input, ...tokens);
        const logits = await teacherForced(engine, whole[r]!);
        expect(tokens).toEqual(logits.slice(held - 1, -1).map(argmax));
        expect(tokens.length === 5 || tokens.at(-1) === GREEDY.stop).toBe(true);
      }
    }
    sampler.destroy();
  });

  it('samples what the twins sample, at a temperature', async () => {
    const twin = createCpuEngine(SHAPE);
    twin.load(await engine.save());
    const [sampler, reference] = [engine.sampler(40), twin.sampler(40)];
    const inputs = prompts(new Rng('twins'), 40);
    const options = { ...GREEDY, temperature: 0.8, seed: 77, limit: 12 };
    const [mine, theirs] = [await sampler.turn(inputs, options), await reference.turn(inputs, options)];
    const same = mine.filter(({ tokens }, r) => tokens.join() === theirs[r]!.tokens.join()).length;
    // Rounding may carry a draw across a boundary of the CDF, and with it the rest of that rollout.
    expect(same).toBeGreaterThanOrEqual(39);
    expect(new Set(mine.map(({ tokens }) => tokens.length)).size).toBeGreaterThan(3);
    sampler.destroy();
  });

  it('gives a rollout the same tokens whatever else is in the batch', async () => {
    const inputs = prompts(new Rng('layout'), 12);
    const options = { ...GREEDY, temperature: 1, seed: 5, limit: 10 };
    const [together, alone] = [engine.sampler(12), engine.sampler(12)];
    const all = await together.turn(inputs, options);
    for (const r of [0, 5, 11]) {
      alone.reset();
      const one = await alone.turn(
        inputs.map((input, i) => (i === r ? input : null)),
        options,
      );
      expect(one[r]).toEqual(all[r]);
    }
    for (const sampler of [together, alone]) sampler.destroy();
  });

  it('takes prompts of more rows than one slab', async () => {
    const long = { ...SHAPE, context: 300 };
    const wide = await createWebGpuEngine(device, long, { capacity: 300 });
    const sampler = wide.sampler(5);
    const rng = new Rng('slabs');
    const inputs = Array.from({ length: 5 }, () => Array.from({ length: 290 }, () => rng.int(SHAPE.vocab)));
    const sampled = await sampler.turn(inputs, { ...GREEDY, limit: 3 });
    for (const [r, input] of inputs.entries()) {
      const { tokens } = sampled[r]!;
      const logits = await teacherForced(wide, [...input, ...tokens]);
      expect(tokens).toEqual(logits.slice(289, -1).map(argmax));
    }
    wide.destroy();
  });

  it('times every dispatch of a step, and is empty afterwards', async () => {
    const sampler = engine.sampler(3) as WebGpuSampler;
    const before = await sampler.turn([[1], [2], [3]], GREEDY);
    const times = await sampler.profile(5, { ...GREEDY, topP: 0.5, temperature: 1 }, 2);
    const kernels = times.map(({ kernel }) => kernel);
    expect(kernels.slice(-2)).toEqual(['sample', 'compact']);
    expect(kernels.filter((kernel) => kernel === 'cached_attention')).toHaveLength(SHAPE.layers);
    expect(times.every(({ milliseconds }) => milliseconds > 0)).toBe(true);
    expect(await sampler.turn([[1], [2], [3]], GREEDY)).toEqual(before);
    sampler.destroy();
  });

  it('refuses what does not fit, and goes on after that', async () => {
    const sampler = engine.sampler(2);
    const bad: [(number[] | null)[], Partial<TurnOptions>][] = [
      [[[1]], {}],
      [[[], null], {}],
      [[[1], [SHAPE.vocab]], {}],
      [[[1], null], { limit: SHAPE.context }],
      [[[1], null], { limit: -1 }],
      [[[1], null], { temperature: Number.NaN }],
    ];
    for (const [inputs, options] of bad)
      await expect(sampler.turn(inputs, { ...GREEDY, ...options })).rejects.toThrow(LabError);
    const nothing = { tokens: [], logProbs: [] };
    expect(await sampler.turn([null, null], GREEDY)).toEqual([nothing, nothing]);
    expect(await sampler.turn([[1, 2], null], { ...GREEDY, limit: 0 })).toEqual([nothing, nothing]);
    const [continued] = await sampler.turn([[], null], GREEDY);
    sampler.reset();
    expect((await sampler.turn([[1, 2], null], GREEDY))[0]).toEqual(continued);
    sampler.destroy();
    await expect(sampler.turn([[1], null], GREEDY)).rejects.toThrow(LabError);
    expect(() => engine.sampler(0)).toThrow(LabError);
  });
});
