import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { pack, type TrainingSequence } from '../../../src/policy/batch.ts';
import type { PackedBatch, PolicyEngine, PolicyShape, StepOptions } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { createWebGpuEngine, type WebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { FORWARD, GRADIENT, relativeError } from '../../kernel/harness.ts';

const OPTIONS: StepOptions = {
  learningRate: 3e-3,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clip: 1,
};

const SHAPE: PolicyShape = { vocab: 13, width: 16, layers: 2, heads: 4, hidden: 64, context: 24 };
/** Heads of width 6, an MLP of odd size, and a vocabulary of several tiles, the last one ragged. */
const ODD: PolicyShape = { vocab: 2055, width: 12, layers: 1, heads: 2, hidden: 20, context: 40 };

/** Sequences "a b c d | a b c d": the second half can be learned, the first cannot and has weight 0. */
function copyTask(rng: Rng, count: number, vocab: number): TrainingSequence[] {
  return Array.from({ length: count }, () => {
    const half = Array.from({ length: 4 }, () => 1 + rng.int(vocab - 1));
    return { tokens: [...half, 0, ...half], weights: [0, 0, 0, 0, 1, 1, 1, 1, 0] };
  });
}

/** Sequences of every length from 1 on, with about a third of the weights 0. */
function raggedBatch(rng: Rng, lengths: readonly number[], vocab: number): PackedBatch {
  const sequences = lengths.map((length) => ({
    tokens: Array.from({ length }, () => rng.int(vocab)),
    weights: Array.from({ length }, () => (rng.chance(0.35) ? 0 : 0.25 + rng.float())),
  }));
  return pack(sequences);
}

describe('the WebGPU policy', { timeout: 120_000 }, () => {
  let device: LabDevice;
  const engines: PolicyEngine[] = [];
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterEach(() => {
    for (const engine of engines.splice(0)) engine.destroy();
  });
  afterAll(() => device?.destroy());

  async function open(shape: PolicyShape, capacity = 512): Promise<WebGpuEngine> {
    const engine = await createWebGpuEngine(device, shape, { capacity });
    engines.push(engine);
    return engine;
  }

  it.each([SHAPE, ODD])('has the losses, logits and gradients of the float64 twins: %o', async (shape) => {
    // So large that the logits of the odd vocabulary come in several tiles.
    const engine = await open(shape, 4096);
    const twin = createCpuEngine(shape, { capacity: 512 });
    const batch = raggedBatch(new Rng('ragged'), [1, 2, 24, 7, 1, 19, 24, 3, 11], shape.vocab);
    for (const policy of [engine, twin]) policy.initialise(5);
    expect(relativeError(await engine.logits(batch), [...(await twin.logits(batch))])).toBeLessThan(FORWARD);
    expect(relativeError(await engine.evaluate(batch), [...(await twin.evaluate(batch))])).toBeLessThan(
      FORWARD,
    );
    // With β = 0 and no clipping the first moment is the gradient itself.
    const options = { ...OPTIONS, beta1: 0, clip: Number.POSITIVE_INFINITY };
    for (const policy of [engine, twin]) policy.train(batch, options);
    const [[mine], [reference]] = [await engine.stats(), await twin.stats()];
    expect(mine!.loss).toBeCloseTo(reference!.loss, 5);
    expect(mine!.gradientNorm / reference!.gradientNorm).toBeCloseTo(1, 4);
    expect([mine!.step, mine!.trained, mine!.tokens]).toEqual([1, reference!.trained, reference!.tokens]);
    const [gradient, expected] = [(await engine.save()).moment1, (await twin.save()).moment1];
    for (const { name, offset, size } of layout(shape).tensors) {
      const error = relativeError(gradient.subarray(offset, offset + size), [
        ...expected.subarray(offset, offset + size),
      ]);
      expect(error, name).toBeLessThan(GRADIENT);
    }
  });

  it('follows the twins through a training run', async () => {
    const engine = await open(SHAPE);
    const twin = createCpuEngine(SHAPE, { capacity: 512 });
    const rng = new Rng('follow');
    for (const policy of [engine, twin]) policy.initialise(2);
    for (let step = 0; step < 10; step++) {
      const batch = pack(copyTask(rng, 3 + 5 * step, SHAPE.vocab));
      for (const policy of [engine, twin]) policy.train(batch, OPTIONS);
    }
    const [mine, reference] = [await engine.stats(), await twin.stats()];
    for (const [i, { loss }] of reference.entries()) expect(mine[i]!.loss).toBeCloseTo(loss, 4);
  });

  it('learns to copy, and twice the same run gives the same bits', async () => {
    const engine = await open(SHAPE);
    const run = async () => {
      engine.initialise(1);
      const rng = new Rng('copy');
      for (let step = 0; step < 150; step++) engine.train(pack(copyTask(rng, 40, SHAPE.vocab)), OPTIONS);
      return { stats: await engine.stats(), saved: await engine.save() };
    };
    const first = await run();
    expect(first.stats.map((s) => s.step)).toEqual(Array.from({ length: 150 }, (_, i) => i + 1));
    expect(first.stats[0]!.loss).toBeCloseTo(Math.log(SHAPE.vocab), 1);
    expect(first.stats.at(-1)!.loss).toBeLessThan(1.2);
    expect(await run()).toEqual(first);
  });

  it('continues a saved run bit for bit', async () => {
    const engine = await open(SHAPE);
    const other = await open(SHAPE, 400);
    const batches = Array.from({ length: 6 }, (_, i) => pack(copyTask(new Rng(i), 20, SHAPE.vocab)));
    engine.initialise(3);
    for (const batch of batches.slice(0, 3)) engine.train(batch, OPTIONS);
    other.load(await engine.save());
    for (const batch of batches.slice(3)) for (const policy of [engine, other]) policy.train(batch, OPTIONS);
    expect(await other.save()).toEqual(await engine.save());
    expect((await other.stats()).map((s) => s.step)).toEqual([4, 5, 6]);
  });

  it('keeps packed sequences apart', async () => {
    const engine = await open(SHAPE);
    const rng = new Rng('apart');
    const lengths = [5, 3, 17, 2, 24];
    const batch = raggedBatch(rng, lengths, SHAPE.vocab);
    const before = await engine.logits(batch);
    // The third sequence, positions 8 … 24, becomes another.
    const tokens = batch.tokens.map((token, i) => (i >= 8 && i < 25 ? (token + 1) % SHAPE.vocab : token));
    const after = await engine.logits({ ...batch, tokens });
    const rows = (logits: Float32Array, from: number, to: number) =>
      logits.subarray(from * SHAPE.vocab, to * SHAPE.vocab);
    expect(rows(after, 0, 8)).toEqual(rows(before, 0, 8));
    expect(rows(after, 25, 51)).toEqual(rows(before, 25, 51));
    expect(rows(after, 8, 25)).not.toEqual(rows(before, 8, 25));
  });

  it('does not see later tokens', async () => {
    const engine = await open(SHAPE);
    const batch = raggedBatch(new Rng('causal'), [20], SHAPE.vocab);
    const before = await engine.logits(batch);
    const tokens = batch.tokens.map((token, i) => (i > 11 ? (token + 1) % SHAPE.vocab : token));
    const after = await engine.logits({ ...batch, tokens });
    expect(after.subarray(0, 12 * SHAPE.vocab)).toEqual(before.subarray(0, 12 * SHAPE.vocab));
  });

  it('refuses bad batches, options and checkpoints before the device is touched', async () => {
    const engine = await open(SHAPE, 8);
    const saved = await engine.save();
    const good = pack([{ tokens: [1, 2, 3], weights: [1, 1, 0] }]);
    const none = { ...good, weights: new Float32Array(3) };
    const batches: PackedBatch[] = [
      pack([]),
      none,
      pack([{ tokens: [1, 2, 3, 4, 5, 6, 7, 8, 9], weights: Array(9).fill(1) }]),
      { ...good, tokens: Int32Array.of(1, 2, SHAPE.vocab) },
      { ...good, starts: Int32Array.of(0, 2, 1) },
      { ...good, weights: Float32Array.of(1, Number.NaN, 0) },
      { ...good, targets: Int32Array.of(1) },
    ];
    for (const batch of batches) expect(() => engine.train(batch, OPTIONS)).toThrow(LabError);
    expect(() => engine.train(good, { ...OPTIONS, beta1: 1 })).toThrow(LabError);
    expect(() => engine.load({ ...saved, parameters: new Float32Array(3) })).toThrow(LabError);
    expect(await engine.stats()).toEqual([]);
    expect(await engine.save()).toEqual(saved);
    expect([...(await engine.evaluate(none))]).toEqual([0, 0, 0]);
  });

  it('says which step diverged', async () => {
    const engine = await open(SHAPE);
    const batch = pack(copyTask(new Rng('diverge'), 10, SHAPE.vocab));
    for (let step = 0; step < 4; step++) engine.train(batch, { ...OPTIONS, learningRate: 1e30 });
    await expect(engine.stats()).rejects.toThrow(/diverged/);
  });

  it('counts its memory and gives all of it back', async () => {
    const engine = await open(SHAPE);
    const own = engine.bytes;
    expect(own).toBeGreaterThan(512 * 4 * (11 * 16 + 2 * 64));
    const sampler = engine.sampler(4);
    expect(engine.bytes).toBeGreaterThan(own + 4 * 24 * 16 * 4 * 4 - 1);
    sampler.destroy();
    expect(engine.bytes).toBe(own);
    engine.sampler(4);
    engine.destroy();
    expect(engine.bytes).toBe(0);
    expect(() => engine.initialise(1)).toThrow(LabError);
  });

  it('refuses shapes and capacities that it cannot build', async () => {
    await expect(open({ ...SHAPE, hidden: 30 })).rejects.toThrow(LabError);
    await expect(open({ ...SHAPE, heads: 3 })).rejects.toThrow(LabError);
    await expect(open(SHAPE, 0)).rejects.toThrow(LabError);
    await expect(open(SHAPE, 1 << 28)).rejects.toThrow(/one buffer of this device/);
  });

  it('says that its device was closed', async () => {
    const lost = await openTestDevice();
    const engine = await createWebGpuEngine(lost, SHAPE, { capacity: 16 });
    lost.destroy();
    expect((await lost.lost).own).toBe(true);
    expect(() => engine.initialise(1)).toThrow(/closed/);
    engine.destroy();
  });
});
