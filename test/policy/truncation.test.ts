import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import { pack } from '../../src/policy/batch.ts';
import type { PolicyEngine, PolicyShape, Truncation } from '../../src/policy/engine.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../kernel/device.ts';
import { type History, logProbsOf, record, sentences, teacherForced } from './truncated.ts';

const shapeOf = (vocab: number): PolicyShape => ({
  vocab,
  width: 16,
  layers: 2,
  heads: 2,
  hidden: 32,
  context: 320,
});
const CAPACITY = 1400;

const CUTS: Record<string, Omit<Truncation, 'grammar'> & { grammar?: boolean }> = {
  greedy: { temperature: 0 },
  'T = 1': { temperature: 1 },
  'T = 0.7': { temperature: 0.7 },
  'top-p 0.9': { temperature: 1, topP: 0.9 },
  'top-p 0.5': { temperature: 0.7, topP: 0.5 },
  grammar: { temperature: 1, grammar: true },
  'grammar, greedy': { temperature: 0, grammar: true },
  'grammar and top-p': { temperature: 1.3, topP: 0.8, grammar: true },
};

const truncationOf = (name: string, vocab: number): Truncation => {
  const { temperature, topP, grammar } = CUTS[name]!;
  return {
    temperature,
    ...(topP === undefined ? {} : { topP }),
    ...(grammar ? { grammar: sentences(vocab) } : {}),
  };
};

describe.each(['webgpu', 'twin'])('truncated distributions, %s', { timeout: 120_000 }, (backend) => {
  let device: LabDevice | undefined;
  const engines = new Map<number, PolicyEngine>();
  beforeAll(async () => {
    if (backend === 'webgpu') device = await openTestDevice();
    for (const vocab of [5, 130, 4099]) {
      const options = { capacity: CAPACITY };
      const engine = device
        ? await createWebGpuEngine(device, shapeOf(vocab), options)
        : createCpuEngine(shapeOf(vocab), options);
      engine.initialise(vocab);
      // Sharper than fresh weights, so that a context that is read wrong shows.
      const saved = await engine.save();
      engine.load({ ...saved, parameters: saved.parameters.map((w) => (w === 1 ? 1 : 8 * w)) });
      engines.set(vocab, engine);
    }
  }, 120_000);
  afterAll(() => {
    for (const engine of engines.values()) engine.destroy();
    device?.destroy();
  });

  const promptOf = (rng: Rng, vocab: number, length: number) => Array.from({ length }, () => rng.int(vocab));

  const small = ['greedy', 'T = 1', 'top-p 0.5', 'grammar and top-p'];
  const cases = Object.keys(CUTS).flatMap((name) =>
    (small.includes(name) ? [5, 130, 4099] : [130]).map((vocab) => [name, vocab] as const),
  );
  it.each(cases)('%s: what was sampled is what evaluate says, V = %i', async (name, vocab) => {
    const engine = engines.get(vocab)!;
    const truncation = truncationOf(name, vocab);
    const rng = new Rng(`${name} ${vocab}`);
    // Forced rows of the first turn fill more than one slab of either sampler.
    const lengths = vocab === 130 ? [285, 270, 260, 240, 3, 17] : [30, 1, 44, 7, 3, 17];
    const sampler = engine.sampler(lengths.length);
    const histories: History[] = lengths.map(() => ({ tokens: [], sampled: [] }));
    for (let turn = 0; turn < 3; turn++) {
      const inputs = lengths.map((length, r) =>
        turn > 0 && r % 3 === turn ? null : promptOf(rng, vocab, turn === 0 ? length : rng.int(4)),
      );
      const said = await sampler.turn(inputs, { ...truncation, stop: 0, limit: 7, seed: rng.bits() });
      for (const [r, input] of inputs.entries())
        if (input) record(histories[r]!, input, said[r]!, truncation.grammar);
        else expect(said[r]).toEqual({ tokens: [], logProbs: [] });
    }
    sampler.destroy();
    const { batch, states, logProbs } = teacherForced(histories);
    expect(logProbs.length).toBeGreaterThan(12);
    const nll = await engine.evaluate(batch, truncation, truncation.grammar && states);
    const logits = vocab > 1000 ? null : await engine.logits(batch);
    let i = 0;
    for (const [n, weight] of batch.weights.entries()) {
      if (weight === 0) {
        expect(nll[n]).toBe(0);
        continue;
      }
      const logProb = logProbs[i++]!;
      expect(Math.abs(nll[n]! + logProb)).toBeLessThan(1e-4);
      if (!logits) continue;
      const row = logits.subarray(n * vocab, (n + 1) * vocab);
      const expected = logProbsOf(row, truncation, Math.max(0, states[n]!))[batch.targets[n]!]!;
      expect(Math.abs(expected - logProb)).toBeLessThan(1e-4);
    }
    expect(i).toBe(logProbs.length);
  });

  it.each(Object.keys(CUTS))('%s: every token as a target, those without mass at +Infinity', async (name) => {
    const engine = engines.get(130)!;
    const truncation = truncationOf(name, 130);
    const rng = new Rng(name);
    const prompt = promptOf(rng, 130, 9);
    const batch = pack(
      Array.from({ length: 130 }, (_, token) => ({
        tokens: [...prompt, token],
        weights: [...prompt.keys(), 0].map((i) => (i === prompt.length - 1 ? 0.5 : 0)),
      })),
    );
    // Some state that allows a part of the tokens.
    const state = truncation.grammar ? truncation.grammar.next[truncation.grammar.classes[1]!]! : 0;
    const states = new Int32Array(batch.tokens.length).fill(state);
    const nll = await engine.evaluate(batch, truncation, truncation.grammar && states);
    const logits = await engine.logits(batch);
    const expected = logProbsOf(logits.subarray(8 * 130, 9 * 130), truncation, state);
    let mass = 0;
    for (const [token, logProb] of expected.entries()) {
      const value = nll[10 * token + 8]!;
      mass += Math.exp(-value);
      if (logProb === -Infinity) expect(value).toBe(Infinity);
      else expect(Math.abs(value + logProb)).toBeLessThan(1e-4);
    }
    expect(mass).toBeCloseTo(1, 4);
    expect(expected.some((logProb) => logProb === -Infinity)).toBe(!/^T/.test(name));
  });

  it.each(['T = 0.7', 'top-p 0.9', 'grammar and top-p'])(
    '%s: frequencies of what is sampled (χ²)',
    async (name) => {
      const engine = engines.get(130)!;
      const truncation = truncationOf(name, 130);
      const [rollouts, rounds] = [400, backend === 'webgpu' ? 20 : 10];
      const prompt = promptOf(new Rng('prompt'), 130, 6);
      const logits = await engine.logits(pack([{ tokens: prompt, weights: prompt.map(() => 0) }]));
      const p = logProbsOf(logits.subarray(5 * 130, 6 * 130), truncation).map(Math.exp);
      const counts = new Array<number>(130).fill(0);
      const sampler = engine.sampler(rollouts);
      for (let round = 0; round < rounds; round++) {
        sampler.reset();
        const inputs = new Array<number[]>(rollouts).fill(prompt);
        const said = await sampler.turn(inputs, { ...truncation, stop: 0, limit: 1, seed: round });
        for (const { tokens } of said) counts[tokens[0]!] = counts[tokens[0]!]! + 1;
      }
      sampler.destroy();
      const draws = rollouts * rounds;
      // Rare tokens are pooled.
      const [bins, rest] = [p.map((q, id) => ({ q, count: counts[id]! })), { q: 0, count: 0 }];
      let [chi, degrees] = [0, -1];
      for (const bin of [...bins, rest]) {
        if (bin !== rest && bin.q * draws < 8) {
          rest.q += bin.q;
          rest.count += bin.count;
          continue;
        }
        if (bin.q === 0) continue;
        chi += (bin.count - bin.q * draws) ** 2 / (bin.q * draws);
        degrees++;
      }
      expect(p.every((q, id) => q > 0 || counts[id] === 0)).toBe(true);
      expect(degrees).toBeGreaterThan(8);
      // Beyond this in about one of 10⁶ cases (Laurent & Massart 2000, lemma 1, with x = ln 10⁶).
      expect(chi).toBeLessThan(degrees + 2 * Math.sqrt(degrees * 13.8) + 27.6);
    },
  );

  it('a rollout does not depend on the others, and a seed gives the same bits twice', async () => {
    const engine = engines.get(130)!;
    const truncation = truncationOf('grammar and top-p', 130);
    const rng = new Rng('layout');
    const inputs = Array.from({ length: 9 }, () => promptOf(rng, 130, 1 + rng.int(9)));
    const options = { ...truncation, stop: 0, limit: 6, seed: 5 };
    const sampler = engine.sampler(9);
    const all = await sampler.turn(inputs, options);
    sampler.reset();
    expect(await sampler.turn(inputs, options)).toEqual(all);
    for (const r of [0, 4, 8]) {
      sampler.reset();
      const lone = await sampler.turn(
        inputs.map((input, i) => (i === r ? input : null)),
        options,
      );
      expect(lone[r]).toEqual(all[r]);
    }
    // Another grammar, larger than any before, between two turns of the first.
    sampler.reset();
    const wide = { ...truncation.grammar!, next: new Int32Array(4 * truncation.grammar!.next.length) };
    await sampler.turn(inputs, { ...options, grammar: wide });
    sampler.reset();
    expect(await sampler.turn(inputs, options)).toEqual(all);
    sampler.destroy();
  });

  it('refuses bad truncations and states, and goes on after that', async () => {
    const engine = engines.get(130)!;
    const grammar = sentences(130);
    const batch = pack([{ tokens: [1, 2, 3], weights: [1, 1, 0] }]);
    const bad: [Truncation, Int32Array?][] = [
      [{ temperature: 1, topP: 0 }],
      [{ temperature: 1, topP: 1.01 }],
      [{ temperature: 1, topP: Number.NaN }],
      [{ temperature: Number.NaN }],
      [{ temperature: -1 }],
      [{ temperature: 1, grammar: sentences(131) }, new Int32Array(3)],
      [{ temperature: 1, grammar: { ...grammar, next: grammar.next.map(() => 99) } }, new Int32Array(3)],
    ];
    const sampler = engine.sampler(1);
    for (const [truncation, states] of bad) {
      await expect(engine.evaluate(batch, truncation, states)).rejects.toThrow(LabError);
      const turn = sampler.turn([[1]], { ...truncation, stop: 0, limit: 2, seed: 0 });
      await expect(turn).rejects.toThrow(LabError);
    }
    sampler.destroy();
    const under = { temperature: 1, grammar };
    for (const states of [undefined, new Int32Array(2), Int32Array.of(0, -1, 0), Int32Array.of(99, 0, 0)])
      await expect(engine.evaluate(batch, under, states)).rejects.toThrow(LabError);
    await expect(engine.evaluate(batch, { temperature: 1 }, new Int32Array(3))).rejects.toThrow(LabError);
    const untouched = await engine.evaluate(batch, under, Int32Array.of(0, 0, -1));
    expect([...untouched].every((nll) => nll >= 0)).toBe(true);
    const none = pack([{ tokens: [1, 2], weights: [0, 0] }]);
    expect([...(await engine.evaluate(none, { temperature: 1 }))]).toEqual([0, 0]);
  });
});
