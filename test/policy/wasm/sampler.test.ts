import { beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import type { PolicyEngine, PolicyShape, TurnOptions } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { createWasmEngine } from '../../../src/policy/wasm/engine.ts';

const shape: PolicyShape = { vocab: 11, width: 12, layers: 2, heads: 2, hidden: 18, context: 700 };

function weights() {
  const { tensors, count } = layout(shape);
  const parameters = new Float32Array(count);
  const rng = new Rng('weights');
  for (const { shape: dims, offset, size } of tensors)
    for (let i = offset; i < offset + size; i++)
      parameters[i] = (dims.length > 1 ? 0 : 1) + 0.4 * (rng.float() * 2 - 1);
  return { shape, step: 0, parameters, moment1: new Float32Array(count), moment2: new Float32Array(count) };
}

describe('the sampler', () => {
  let ours: PolicyEngine;
  let twin: PolicyEngine;
  beforeAll(async () => {
    ours = await createWasmEngine(shape);
    twin = createCpuEngine(shape);
    for (const engine of [ours, twin]) engine.load(weights());
  });

  // Classes: even ids, odd ids; an odd one may only follow an even one, and a turn begins with an even one.
  const grammar = {
    classes: Uint16Array.from({ length: 11 }, (_, id) => id % 2),
    classCount: 2,
    next: Int32Array.of(1, -1, 1, 0),
  };
  const cases: [string, Partial<TurnOptions>][] = [
    ['greedily', { temperature: 0 }],
    ['at temperature 1', {}],
    ['from the nucleus', { temperature: 0.8, topP: 0.8 }],
    ['inside a grammar', { grammar }],
  ];
  it.each(cases)('says what the twins say, %s, over several turns', async (_, options) => {
    const full = { stop: 10, limit: 5, temperature: 1, seed: 77, ...options };
    const samplers = [ours.sampler(3), twin.sampler(3)] as const;
    for (const inputs of [
      [[1, 2, 3], null, [4]],
      [[5], [10, 7, 7, 1], null],
      [[], [2], [10, 3]],
    ]) {
      const [got, wanted] = [await samplers[0].turn(inputs, full), await samplers[1].turn(inputs, full)];
      for (const [rollout, { tokens, logProbs }] of wanted.entries()) {
        expect(got[rollout]!.tokens).toEqual(tokens);
        for (const [i, logProb] of logProbs.entries())
          expect(Math.abs(got[rollout]!.logProbs[i]! - logProb)).toBeLessThan(1e-4);
      }
    }
    for (const sampler of samplers) sampler.destroy();
  });

  it('takes prompts longer than a run of rows, and hundreds of rollouts', async () => {
    const rng = new Rng(8);
    const prompts = Array.from({ length: 300 }, (_, r) =>
      Array.from({ length: r < 2 ? 290 : 1 + rng.int(4) }, () => rng.int(11)),
    );
    const options = { stop: -1, limit: 3, temperature: 0, seed: 0 };
    const got = await ours.sampler(300).turn(prompts, options);
    const wanted = await twin.sampler(300).turn(prompts, options);
    expect(got.map(({ tokens }) => tokens)).toEqual(wanted.map(({ tokens }) => tokens));
  });

  it('has the log-probabilities that evaluate has', async () => {
    const prompt = [1, 2, 3];
    const truncation = { temperature: 0.9, topP: 0.95 };
    const [turn] = await ours.sampler(1).turn([prompt], { stop: -1, limit: 20, seed: 4, ...truncation });
    const tokens = [...prompt, ...turn!.tokens];
    const weightsOf = tokens.map((_, i) => (i >= 2 && i < tokens.length - 1 ? 1 : 0));
    const n = tokens.length;
    const batch = {
      tokens: Int32Array.from(tokens),
      starts: new Int32Array(n),
      targets: Int32Array.from([...tokens.slice(1), 0]),
      weights: Float32Array.from(weightsOf),
    };
    const nll = await ours.evaluate(batch, truncation);
    for (const [i, logProb] of turn!.logProbs.entries()) expect(nll[2 + i]).toBeCloseTo(-logProb, 5);
  });

  it('does not depend on the other rollouts, bit for bit', async () => {
    const options = { stop: 10, limit: 20, temperature: 1, seed: 5 };
    const crowd = await ours.sampler(4).turn([[1], [2, 3], [4, 5, 6], [7]], options);
    const lone = await ours.sampler(4).turn([null, null, [4, 5, 6], null], options);
    expect(lone[2]).toEqual(crowd[2]);
  });

  it('forgets on reset, and only appends at limit 0', async () => {
    const sampler = ours.sampler(1);
    const options = { stop: -1, limit: 6, temperature: 1, seed: 3 };
    const first = await sampler.turn([[1, 2]], options);
    expect(await sampler.turn([[1, 2]], options)).not.toEqual(first);
    sampler.reset();
    expect(await sampler.turn([[1, 2]], { ...options, limit: 0 })).toEqual([{ tokens: [], logProbs: [] }]);
    expect(await sampler.turn([[]], options)).toEqual(first);
  });

  it('outlives the growth of the memory and reads the weights of the moment', async () => {
    const engine = await createWasmEngine(shape);
    engine.load(weights());
    const sampler = engine.sampler(1);
    const options = { stop: -1, limit: 4, temperature: 0, seed: 0 };
    await sampler.turn([[1, 2, 3]], { ...options, limit: 0 });
    const n = 4096;
    const batch = { tokens: new Int32Array(n), starts: Int32Array.from({ length: n }, (_, i) => i) };
    await engine.evaluate({ ...batch, targets: new Int32Array(n), weights: new Float32Array(n) });
    const other = twin.sampler(1);
    const [wanted] = await other.turn([[1, 2, 3, 4]], options);
    expect((await sampler.turn([[4]], options))[0]!.tokens).toEqual(wanted!.tokens);
    const step = { learningRate: 1e30, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clip: 1 };
    const trained = { ...batch, targets: new Int32Array(n), weights: new Float32Array(n).fill(1) };
    for (let i = 0; i < 3; i++) engine.train(trained, step);
    await expect(sampler.turn([[4]], { ...options, temperature: 1 })).rejects.toThrow(/no numbers any more/);
  });

  it('refuses what does not fit, before anything enters the cache', async () => {
    const options = { stop: -1, limit: 10, temperature: 0, seed: 3 };
    const sampler = ours.sampler(2);
    const long = new Array<number>(691).fill(1);
    await expect(sampler.turn([[1], long], options)).rejects.toThrow(/reach 701 tokens/);
    await expect(sampler.turn([[1], [11]], options)).rejects.toThrow(LabError);
    await expect(sampler.turn([[1], []], options)).rejects.toThrow(/nothing to continue/);
    expect(() => ours.sampler(0)).toThrow(LabError);
    const fresh = await ours.sampler(2).turn([[1], null], options);
    expect(await sampler.turn([[1], null], options)).toEqual(fresh);
    sampler.destroy();
    sampler.destroy();
    await expect(sampler.turn([[1], null], options)).rejects.toThrow(/destroyed/);
  });
});
