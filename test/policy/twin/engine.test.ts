import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { PackedBatch } from '../../../src/policy/engine.ts';
import { initialWeights } from '../../../src/policy/initial.ts';
import { layout, parameterCount } from '../../../src/policy/layout.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { backward, forward, loss } from '../../../src/policy/twin/model.ts';
import { weightsOf } from '../../../src/policy/twin/weights.ts';
import { allocate } from '../../../src/policy/twin/workspace.ts';
import { copyBatch, smallShape, stepOptions } from './copyTask.ts';
import { raggedBatch, randomReals, worstDifference } from './differences.ts';

/** A policy whose logits differ between tokens, as fresh weights hardly do. */
function livelyEngine(seed: number, shape = smallShape) {
  const engine = createCpuEngine(shape);
  const { tensors, count } = layout(shape);
  const parameters = new Float32Array(count);
  const rng = new Rng(seed);
  for (const t of tensors) {
    const spread = t.shape.length > 1 ? 0.25 : 0;
    for (let i = t.offset; i < t.offset + t.size; i++)
      parameters[i] = (t.shape.length > 1 ? 0 : 1) + spread * (rng.float() * 2 - 1);
  }
  const zeros = () => new Float32Array(count);
  engine.load({ shape, step: 0, parameters, moment1: zeros(), moment2: zeros() });
  return engine;
}

describe('the whole model', () => {
  it('has the gradient of its loss, in every parameter', () => {
    const shape = { vocab: 6, width: 8, layers: 2, heads: 2, hidden: 12, context: 8 };
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

  it('starts near the uniform distribution', async () => {
    const engine = createCpuEngine(smallShape);
    engine.initialise(3);
    const trained = [...(await engine.evaluate(copyBatch(new Rng(1), 20)))].filter((v) => v !== 0);
    // Tied weights favour the input token by about D·0.02 = 0.64, so single tokens lie further off than the mean.
    const mean = trained.reduce((sum, v) => sum + v, 0) / trained.length;
    expect(Math.abs(mean - Math.log(11))).toBeLessThan(0.1);
    for (const value of trained) expect(Math.abs(value - Math.log(11))).toBeLessThan(1);
  });
});

describe('packing', () => {
  it('keeps sequences apart: logits are bit-identical alone, first and last', async () => {
    const engine = livelyEngine(1);
    const rng = new Rng(2);
    const sequence = (length: number) => {
      const tokens = Array.from({ length }, () => rng.int(11));
      return { tokens, weights: tokens.map(() => 1) };
    };
    const mine = sequence(9);
    const alone = await engine.logits(pack([mine]));
    for (const others of [[sequence(3)], [sequence(16), sequence(1), sequence(5)]]) {
      const first = await engine.logits(pack([mine, ...others]));
      const last = await engine.logits(pack([...others, mine]));
      expect([...first.slice(0, alone.length)]).toEqual([...alone]);
      expect([...last.slice(-alone.length)]).toEqual([...alone]);
    }
  });

  it('keeps the future out of the past', async () => {
    const engine = livelyEngine(1);
    const one = await engine.logits(pack([{ tokens: [1, 2, 3, 4], weights: [1, 1, 1, 1] }]));
    const other = await engine.logits(pack([{ tokens: [1, 2, 3, 9], weights: [1, 1, 1, 1] }]));
    expect([...one.slice(0, 33)]).toEqual([...other.slice(0, 33)]);
    expect([...one.slice(33)]).not.toEqual([...other.slice(33)]);
  });
});

describe('evaluate', () => {
  it('gives −log softmax of the logits at the target, 0 at weight 0, and changes nothing', async () => {
    const engine = livelyEngine(4);
    const batch = copyBatch(new Rng(5), 12);
    const before = await engine.save();
    const logits = await engine.logits(batch);
    const nll = await engine.evaluate(batch);
    for (let i = 0; i < nll.length; i++) {
      const row = [...logits.slice(i * 11, i * 11 + 11)];
      const total = row.reduce((sum, l) => sum + Math.exp(l), 0);
      const wanted =
        batch.weights[i] === 0 ? 0 : Math.log(total) - (row[batch.targets[i] as number] as number);
      expect(nll[i]).toBeCloseTo(wanted, 5);
    }
    expect(await engine.save()).toEqual(before);
    expect(await engine.stats()).toEqual([]);
  });
});

describe('training', () => {
  it('learns to copy: over 99 % of the tokens of unseen words', async () => {
    const engine = createCpuEngine(smallShape);
    engine.initialise(1);
    const rng = new Rng('copy');
    for (let step = 0; step < 600; step++) {
      const learningRate = 1.5e-3 * Math.min(1, (600 - step) / 400);
      engine.train(copyBatch(rng, 32), { ...stepOptions, learningRate });
    }
    const stats = await engine.stats();
    expect(stats.length).toBe(600);
    expect(stats[599]?.step).toBe(600);
    const test = copyBatch(new Rng('unseen'), 200);
    const logits = await engine.logits(test);
    let right = 0;
    let total = 0;
    for (const [i, w] of test.weights.entries()) {
      if (w === 0) continue;
      const row = [...logits.slice(i * 11, i * 11 + 11)];
      total++;
      if (row.indexOf(Math.max(...row)) === test.targets[i]) right++;
    }
    expect(right / total).toBeGreaterThan(0.99);
  }, 240_000);

  it('reports loss, norm and counts of the batch before the update', async () => {
    const engine = livelyEngine(6);
    const batch = copyBatch(new Rng(7), 8);
    const nll = await engine.evaluate(batch);
    engine.train(batch, stepOptions);
    const [stats] = await engine.stats();
    const trained = batch.weights.filter((w) => w > 0).length;
    const mean = nll.reduce((sum, v) => sum + v, 0) / trained;
    expect(stats?.loss).toBeCloseTo(mean, 5);
    expect(stats).toMatchObject({ step: 1, trained, tokens: batch.tokens.length });
    expect(stats?.gradientNorm).toBeGreaterThan(0);
  });

  const steps = async (engine: ReturnType<typeof createCpuEngine>, from: number, to: number) => {
    for (let s = from; s < to; s++) engine.train(copyBatch(new Rng(s), 4 + (s % 3)), stepOptions);
    return { checkpoint: await engine.save(), stats: await engine.stats() };
  };

  it('is deterministic, bit for bit', async () => {
    const run = () => {
      const engine = createCpuEngine(smallShape);
      engine.initialise(9);
      return steps(engine, 0, 6);
    };
    expect(await run()).toEqual(await run());
  });

  it('continues from a checkpoint bit for bit', async () => {
    const engine = createCpuEngine(smallShape);
    engine.initialise(9);
    const { checkpoint } = await steps(engine, 0, 3);
    const through = await steps(engine, 3, 6);
    const resumed = createCpuEngine(smallShape);
    resumed.load(structuredClone(checkpoint));
    expect(await steps(resumed, 3, 6)).toEqual(through);
    expect(through.checkpoint.step).toBe(6);
  });

  it('keeps alignment gaps at 0', async () => {
    const engine = livelyEngine(2);
    const { checkpoint } = await steps(engine, 0, 3);
    const gaps = new Set(checkpoint.parameters.keys());
    for (const t of layout(smallShape).tensors)
      for (let i = t.offset; i < t.offset + t.size; i++) gaps.delete(i);
    expect(gaps.size).toBeGreaterThan(0);
    for (const i of gaps) expect(checkpoint.parameters[i]).toBe(0);
  });
});

describe('what is refused', () => {
  const good = () => copyBatch(new Rng(1), 2);
  const cases: [string, Partial<PackedBatch>, RegExp][] = [
    ['a token outside the vocabulary', { tokens: good().tokens.fill(11) }, /tokens\[0\]/],
    ['no trained position', { weights: good().weights.fill(0) }, /weights/],
  ];
  it.each(cases)('%s, before anything changes', async (_, damage, where) => {
    const engine = livelyEngine(1);
    const before = await engine.save();
    expect(() => engine.train({ ...good(), ...damage }, stepOptions)).toThrow(LabError);
    try {
      engine.train({ ...good(), ...damage }, stepOptions);
    } catch (error) {
      expect(String(error)).toMatch(where);
    }
    expect(await engine.save()).toEqual(before);
  });

  it('a batch over the capacity, a capacity of 0, a step that is not finite', () => {
    expect(() => createCpuEngine(smallShape, { capacity: 0 })).toThrow(/capacity is 0/);
    const engine = createCpuEngine(smallShape, { capacity: 10 });
    expect(() => engine.train(good(), stepOptions)).toThrow(/10 fit/);
    const roomy = createCpuEngine(smallShape);
    for (const damage of [
      { learningRate: Number.NaN },
      { beta1: 1 },
      { epsilon: 0 },
      { clip: 0 },
      { weightDecay: -1 },
    ])
      expect(() => roomy.train(good(), { ...stepOptions, ...damage })).toThrow(LabError);
  });

  it('a checkpoint of another shape, cut short, or not finite', async () => {
    const engine = createCpuEngine(smallShape);
    const checkpoint = await engine.save();
    const other = { ...checkpoint, shape: { ...smallShape, vocab: 12 } };
    expect(() => engine.load(other)).toThrow(/another shape/);
    expect(() => engine.load({ ...checkpoint, moment1: new Float32Array(3) })).toThrow(/3 numbers/);
    const bad = checkpoint.parameters.slice();
    bad[5] = Number.NaN;
    expect(() => engine.load({ ...checkpoint, parameters: bad })).toThrow(/entry 5 is NaN/);
    expect(() => engine.load({ ...checkpoint, step: -1 })).toThrow(LabError);
  });

  it.each([
    { width: 30 },
    { heads: 3 },
    { vocab: 0 },
    { layers: 1.5 },
    { heads: 32 },
    { context: Number.NaN },
    { vocab: 1 << 20, width: 1 << 19 },
  ])('the shape %o', (damage) => {
    expect(() => createCpuEngine({ ...smallShape, ...damage })).toThrow(LabError);
  });

  it('anything after destroy', async () => {
    const engine = createCpuEngine(smallShape);
    const sampler = engine.sampler(1);
    engine.destroy();
    expect(() => engine.train(good(), stepOptions)).toThrow(/destroyed/);
    await expect(engine.save()).rejects.toThrow(/destroyed/);
    await expect(sampler.turn([[1]], { stop: 0, limit: 1, temperature: 0, seed: 0 })).rejects.toThrow(
      /destroyed/,
    );
  });
});

describe('initialWeights', () => {
  const shape = { vocab: 200, width: 64, layers: 3, heads: 4, hidden: 256, context: 32 };
  const weights = initialWeights(shape, 5);
  const spread = (values: Float32Array) => Math.sqrt(values.reduce((s, v) => s + v * v, 0) / values.length);

  it('is normal with the stated spreads; gains 1; gaps 0', () => {
    let covered = 0;
    for (const { name, shape: dims, offset, size } of layout(shape).tensors) {
      const values = weights.slice(offset, offset + size);
      covered += size;
      if (dims.length === 1) expect(values.every((v) => v === 1)).toBe(true);
      else {
        const wanted = /out|down/.test(name) ? 0.02 / Math.sqrt(6) : 0.02;
        // The standard error of the spread of 4096 draws is 1.1 %.
        expect(Math.abs(spread(values) / wanted - 1), name).toBeLessThan(0.05);
        expect(Math.abs(values.reduce((s, v) => s + v, 0) / size), name).toBeLessThan(
          (5 * wanted) / Math.sqrt(size),
        );
        const outside = values.filter((v) => Math.abs(v) > 2 * wanted).length / size;
        expect(Math.abs(outside - 0.0455), name).toBeLessThan(0.015);
      }
    }
    expect(weights.filter((v) => v !== 0).length).toBe(covered);
  });

  it('depends on the seed alone', () => {
    expect(initialWeights(shape, 5)).toEqual(weights);
    expect(initialWeights(shape, 6)).not.toEqual(weights);
  });
});
