import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { PolicyEngine, PolicyShape } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { createWasmEngine } from '../../../src/policy/wasm/engine.ts';
import { relativeError } from '../../kernel/numbers.ts';
import { copyBatch, smallShape, stepOptions } from '../twin/copyTask.ts';
import { raggedBatch } from '../twin/differences.ts';
import { FORWARD, GRADIENT } from './bench.ts';

/** Odd in every size that may be: heads of 6, hidden units and vocabulary no multiple of 4. */
const oddShape: PolicyShape = { vocab: 13, width: 12, layers: 3, heads: 2, hidden: 19, context: 70 };
const shapes: [string, PolicyShape][] = [
  ['gelu', oddShape],
  ['swiglu', { ...oddShape, mlp: 'swiglu' }],
  ['small', smallShape],
];

/** Weights whose logits differ between tokens, as fresh ones hardly do. */
function livelyWeights(shape: PolicyShape, seed: number) {
  const { tensors, count } = layout(shape);
  const parameters = new Float32Array(count);
  const rng = new Rng(seed);
  for (const { shape: dims, offset, size } of tensors)
    for (let i = offset; i < offset + size; i++)
      parameters[i] = (dims.length > 1 ? 0 : 1) + 0.4 * (rng.float() * 2 - 1);
  return {
    shape,
    step: 0,
    parameters,
    moment1: new Float32Array(count),
    moment2: new Float32Array(count),
  };
}

async function pair(shape: PolicyShape, seed: number) {
  const engines = { ours: await createWasmEngine(shape), twin: createCpuEngine(shape) };
  const checkpoint = livelyWeights(shape, seed);
  for (const engine of Object.values(engines)) engine.load(checkpoint);
  return engines;
}

describe.each(shapes)('beside the float64 twins, %s', (_, shape) => {
  const lengths = [shape.context, 1, 3, 12, 7];

  it('has the same logits and log-likelihoods', async () => {
    const { ours, twin } = await pair(shape, 1);
    for (const some of [lengths, [1], [shape.context]]) {
      const batch = raggedBatch(new Rng(2), some, shape.vocab);
      expect(relativeError(await ours.logits(batch), await twin.logits(batch))).toBeLessThan(FORWARD);
      expect(relativeError(await ours.evaluate(batch), await twin.evaluate(batch))).toBeLessThan(FORWARD);
    }
  });

  it('has the same log-likelihoods under a truncation', async () => {
    const { ours, twin } = await pair(shape, 3);
    const batch = raggedBatch(new Rng(4), lengths, shape.vocab);
    for (const truncation of [{ temperature: 0.7 }, { temperature: 1.3, topP: 0.9 }, { temperature: 0 }]) {
      const [got, wanted] = [await ours.evaluate(batch, truncation), await twin.evaluate(batch, truncation)];
      for (const [i, value] of wanted.entries())
        if (value === Infinity) expect(got[i]).toBe(Infinity);
        else expect(Math.abs(got[i]! - value)).toBeLessThan(1e-4);
    }
  });

  it('has the same gradient, in one batch or in several', async () => {
    const { ours, twin } = await pair(shape, 5);
    const rng = new Rng(6);
    const parts = [lengths, [2, 5], [9]].map((some) => raggedBatch(rng, some, shape.vocab));
    parts[1]!.weights.fill(0);
    // A first moment after one step is (1 − β1) times the clipped gradient.
    for (const batch of [parts[0]!, parts]) {
      const gradient = async (engine: PolicyEngine) => {
        engine.load(livelyWeights(shape, 5));
        engine.train(batch, { ...stepOptions, clip: Infinity });
        const [stats] = await engine.stats();
        return { stats: stats!, moment: (await engine.save()).moment1 };
      };
      const [got, wanted] = [await gradient(ours), await gradient(twin)];
      for (const { name, offset, size } of layout(shape).tensors) {
        const part = (values: Float32Array) => values.subarray(offset, offset + size);
        expect(relativeError(part(got.moment), part(wanted.moment)), name).toBeLessThan(GRADIENT);
      }
      expect(Math.abs(got.stats.loss / wanted.stats.loss - 1)).toBeLessThan(FORWARD);
      expect(Math.abs(got.stats.gradientNorm / wanted.stats.gradientNorm - 1)).toBeLessThan(GRADIENT);
      const { step, trained, tokens } = wanted.stats;
      expect(got.stats).toMatchObject({ step, trained, tokens });
    }
  });

  it('trains along the same losses for 30 steps', async () => {
    const engines = [await createWasmEngine(shape), createCpuEngine(shape)];
    const losses = engines.map(async (engine) => {
      engine.initialise(3);
      const rng = new Rng(4);
      for (let i = 0; i < 30; i++) engine.train(copyBatch(rng, 8), stepOptions);
      return (await engine.stats()).map(({ loss }) => loss);
    });
    const [got, wanted] = await Promise.all(losses);
    for (const [i, loss] of wanted!.entries()) expect(Math.abs(got![i]! - loss)).toBeLessThan(1e-4);
  });
});

describe('packing', () => {
  it('keeps sequences apart: logits are bit-identical alone, first and last', async () => {
    const engine = await createWasmEngine(smallShape);
    engine.load(livelyWeights(smallShape, 1));
    const rng = new Rng(2);
    const sequence = (length: number) => {
      const tokens = Array.from({ length }, () => rng.int(11));
      return { tokens, weights: tokens.map(() => 1) };
    };
    const mine = sequence(9);
    const alone = await engine.logits(pack([mine]));
    const others = [sequence(16), sequence(1), sequence(5)];
    const first = await engine.logits(pack([mine, ...others]));
    const last = await engine.logits(pack([...others, mine]));
    expect([...first.slice(0, alone.length)]).toEqual([...alone]);
    expect([...last.slice(-alone.length)]).toEqual([...alone]);
  });
});

describe('training', () => {
  const steps = async (engine: PolicyEngine, from: number, to: number) => {
    for (let s = from; s < to; s++) engine.train(copyBatch(new Rng(s), 4 + (s % 3)), stepOptions);
    return { checkpoint: await engine.save(), stats: await engine.stats() };
  };
  const fresh = async (seed: number) => {
    const engine = await createWasmEngine(smallShape);
    engine.initialise(seed);
    return engine;
  };

  it('is deterministic, bit for bit, whatever the memory held before', async () => {
    const used = await fresh(1);
    await steps(used, 10, 14);
    await used.sampler(4).turn([[1], [2], [3], [4]], { stop: -1, limit: 4, temperature: 1, seed: 1 });
    used.initialise(9);
    expect(await steps(used, 0, 6)).toEqual(await steps(await fresh(9), 0, 6));
  });

  it('continues from a checkpoint bit for bit', async () => {
    const engine = await fresh(9);
    const { checkpoint } = await steps(engine, 0, 3);
    const through = await steps(engine, 3, 6);
    const resumed = await createWasmEngine(smallShape);
    resumed.load(structuredClone(checkpoint));
    expect(await steps(resumed, 3, 6)).toEqual(through);
    expect(through.checkpoint.step).toBe(6);
  });

  it('shares checkpoints with the twins, to and fro', async () => {
    const { checkpoint } = await steps(await fresh(9), 0, 3);
    const twin = createCpuEngine(smallShape);
    twin.load(checkpoint);
    expect(await twin.save()).toEqual(checkpoint);
    const { checkpoint: later } = await steps(twin, 3, 5);
    const engine = await createWasmEngine(smallShape);
    engine.load(later);
    expect(await engine.save()).toEqual(later);
    const ours = await fresh(9);
    await steps(ours, 0, 5);
    expect(relativeError((await ours.save()).parameters, later.parameters)).toBeLessThan(1e-4);
  });

  it('keeps alignment gaps at 0', async () => {
    const { checkpoint } = await steps(await fresh(2), 0, 3);
    const gaps = new Set(checkpoint.parameters.keys());
    for (const t of layout(smallShape).tensors)
      for (let i = t.offset; i < t.offset + t.size; i++) gaps.delete(i);
    expect(gaps.size).toBeGreaterThan(0);
    for (const i of gaps) expect(checkpoint.parameters[i]).toBe(0);
  });

  it('shows a policy that diverged in its stats', async () => {
    const engine = await fresh(1);
    for (let i = 0; i < 3; i++)
      engine.train(copyBatch(new Rng(i), 4), { ...stepOptions, learningRate: 1e30, clip: Infinity });
    const [, , last] = await engine.stats();
    expect(last!.loss).toBeNaN();
  });
});

describe('what is refused', () => {
  it('a damaged batch, step or checkpoint, before anything changes', async () => {
    const engine = await createWasmEngine(smallShape, { capacity: 30 });
    const before = await engine.save();
    const good = copyBatch(new Rng(1), 2);
    expect(() => engine.train({ ...good, tokens: good.tokens.map(() => 11) }, stepOptions)).toThrow(
      /vocabulary/,
    );
    expect(() => engine.train([], stepOptions)).toThrow(LabError);
    expect(() => engine.train(copyBatch(new Rng(1), 30), stepOptions)).toThrow(/30 fit/);
    expect(() => engine.train(good, { ...stepOptions, epsilon: 0 })).toThrow(LabError);
    expect(() => engine.load({ ...before, moment1: new Float32Array(3) })).toThrow(/3 numbers/);
    expect(await engine.save()).toEqual(before);
    expect(await engine.stats()).toEqual([]);
  });

  it('a shape that no engine can build, a capacity of 0, anything after destroy', async () => {
    await expect(createWasmEngine({ ...smallShape, heads: 3 })).rejects.toThrow(LabError);
    await expect(createWasmEngine(smallShape, { capacity: 0 })).rejects.toThrow(/capacity is 0/);
    const engine = await createWasmEngine(smallShape);
    const sampler = engine.sampler(1);
    engine.destroy();
    expect(() => engine.train(copyBatch(new Rng(1), 2), stepOptions)).toThrow(/destroyed/);
    await expect(engine.save()).rejects.toThrow(/destroyed/);
    const options = { stop: 0, limit: 1, temperature: 0, seed: 0 };
    await expect(sampler.turn([[1]], options)).rejects.toThrow(/destroyed/);
    sampler.destroy();
  });
});
