import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { pack, type TrainingSequence } from '../../../src/policy/batch.ts';
import type { PolicyShape, StepOptions } from '../../../src/policy/engine.ts';
import { createWebGpuEngine, type WebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { FORWARD, GRADIENT } from '../../kernel/cases/case.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { range, relativeError } from '../../kernel/numbers.ts';
import { kernelSeed } from '../../kernel/seed.ts';

const OPTIONS: StepOptions = {
  learningRate: 3e-3,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clip: 1,
};
/** With β1 = 0 and no clipping the first moment after a step is the gradient. */
const BARE: StepOptions = { ...OPTIONS, beta1: 0, clip: Number.POSITIVE_INFINITY };

/** Heads of width 6 under a plain MLP, and heads of width 8 under a gated one; ragged vocabularies. */
const SHAPES: PolicyShape[] = [
  { vocab: 37, width: 12, layers: 2, heads: 2, hidden: 20, context: 40 },
  { vocab: 53, width: 16, layers: 2, heads: 2, hidden: 44, context: 40, mlp: 'swiglu' },
];
const LENGTHS = [7, 1, 33, 12, 40, 5, 23, 2];

const seed = kernelSeed();

function sequencesOf(rng: Rng, vocab: number): TrainingSequence[] {
  return LENGTHS.map((length) => ({
    tokens: Array.from({ length }, () => rng.int(vocab)),
    weights: Array.from({ length }, () => (rng.chance(0.3) ? 0 : 0.25 + rng.float())),
  }));
}

/** Indices of elements that are not the same number; −0 is 0. */
const differing = (a: Float32Array, b: Float32Array): number[] =>
  range(a.length).filter((i) => a[i] !== b[i]);

describe.each(SHAPES)(`a whole step (KERNEL_SEED=${seed}) of %o`, { timeout: 120_000 }, (shape) => {
  let device: LabDevice;
  const engines: WebGpuEngine[] = [];
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterEach(() => {
    for (const engine of engines.splice(0)) engine.destroy();
  });
  afterAll(() => device?.destroy());

  async function open(): Promise<WebGpuEngine> {
    const engine = await createWebGpuEngine(device, shape, { capacity: 256 });
    engine.initialise(11);
    engines.push(engine);
    return engine;
  }
  const rngOf = (name: string) => new Rng(`${seed}/${name}`);

  it('gives the same bits to two engines of one seed, micro-batches and all', async () => {
    const runs = [];
    for (const engine of [await open(), await open()]) {
      const rng = rngOf('bits');
      for (let step = 0; step < 4; step++) {
        const sequences = sequencesOf(rng, shape.vocab);
        engine.train(
          step % 2 ? pack(sequences) : [pack(sequences.slice(0, 3)), pack(sequences.slice(3))],
          OPTIONS,
        );
      }
      runs.push({ saved: await engine.save(), stats: await engine.stats() });
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[0]!.stats).toHaveLength(4);
  });

  it('gives a sequence the same logits wherever it lies in a batch', async () => {
    const engine = await open();
    const sequences = sequencesOf(rngOf('place'), shape.vocab);
    const probe = sequences[3]!;
    const alone = await engine.logits(pack([probe]));
    const others = sequences.filter((one) => one !== probe);
    for (const before of [0, 1, 4, others.length]) {
      const order = [...others.slice(0, before), probe, ...others.slice(before)];
      const from = others.slice(0, before).reduce((sum, { tokens }) => sum + tokens.length, 0);
      const all = await engine.logits(pack(order));
      const own = all.subarray(from * shape.vocab, (from + probe.tokens.length) * shape.vocab);
      expect(relativeError(own, alone), `after ${before} others`).toBeLessThan(FORWARD);
    }
  });

  it('gives the same gradient whatever the order of the sequences', async () => {
    const sequences = sequencesOf(rngOf('order'), shape.vocab);
    const gradients = [];
    for (const order of [sequences, rngOf('shuffle').shuffle(sequences)]) {
      const engine = await open();
      engine.train(pack(order), BARE);
      gradients.push((await engine.save()).moment1);
    }
    expect(relativeError(gradients[1]!, gradients[0]!)).toBeLessThan(GRADIENT);
  });

  it('changes no bit of a sequence when another one becomes another', async () => {
    const engine = await open();
    const sequences = sequencesOf(rngOf('leak'), shape.vocab);
    const before = await engine.logits(pack(sequences));
    for (const at of [0, 3, LENGTHS.length - 1]) {
      const tokens = sequences[at]!.tokens.map((token) => (token + 1) % shape.vocab);
      const after = await engine.logits(pack(sequences.with(at, { ...sequences[at]!, tokens })));
      const from = LENGTHS.slice(0, at).reduce((sum, length) => sum + length, 0);
      const rows = new Set(differing(before, after).map((i) => Math.floor(i / shape.vocab)));
      expect([...rows], `sequence ${at}`).toEqual(range(LENGTHS[at]!).map((row) => from + row));
    }
  });

  it('changes no bit of the gradient when a sequence without weight becomes another', async () => {
    const sequences = sequencesOf(rngOf('untrained'), shape.vocab);
    const mute = { ...sequences[2]!, weights: sequences[2]!.weights.map(() => 0) };
    const other = { ...mute, tokens: mute.tokens.map((token) => (token + 5) % shape.vocab) };
    const gradients = [];
    for (const one of [mute, other]) {
      const engine = await open();
      engine.train(pack(sequences.with(2, one)), BARE);
      gradients.push((await engine.save()).moment1);
    }
    expect(differing(gradients[0]!, gradients[1]!)).toEqual([]);
  });
});
