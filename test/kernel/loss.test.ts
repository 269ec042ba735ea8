import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../src/gpu/device.ts';
import { crossEntropy, crossEntropyBackward } from '../../src/policy/twin/crossEntropy.ts';
import { adamw, gradNorm } from '../../src/policy/twin/optimiser.ts';
import { sample } from '../../src/policy/twin/sample.ts';
import * as kernels from '../../src/policy/webgpu/kernels.ts';
import { openTestDevice } from './device.ts';
import { COUNTS, caseRng, FORWARD, GRADIENT, poison, reals, relativeError, runKernel } from './harness.ts';

/** The identity: with it as hidden rows' matrix the twin's logits are the hidden rows themselves. */
function identity(size: number): Float64Array {
  const eye = new Float64Array(size * size);
  for (let i = 0; i < size; i++) eye[i * size + i] = 1;
  return eye;
}

/** Columns base … base + count − 1 of z [n, vocab], in rows padded to a multiple of 4 with NaN. */
function tileOf(z: Float32Array, n: number, vocab: number, base: number, count: number): Float32Array {
  const columns = Math.ceil(count / 4) * 4;
  const out = poison(n * columns);
  for (let row = 0; row < n; row++)
    out.set(z.subarray(row * vocab + base, row * vocab + base + count), row * columns);
  return out;
}

describe('loss, optimiser and sampling', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each([
    { vocab: 5, tiles: [5] },
    { vocab: 140, tiles: [140] },
    { vocab: 141, tiles: [64, 64, 13] },
  ])('cross_entropy and its gradient agree with their twins at %o', async ({ vocab, tiles }) => {
    for (const n of COUNTS) {
      const rng = caseRng('loss', n, vocab);
      const z = reals(rng, n * vocab, 4);
      const targets = Uint32Array.from({ length: n }, () => rng.int(vocab));
      const weights = Float64Array.from({ length: n }, () => 0.25 + rng.float());
      const total = weights.reduce((a, b) => a + b, 0);
      const shares = Float32Array.from(weights, (w) => w / total);
      const size = { n, d: vocab, v: vocab };
      const [nll, lse] = [new Float64Array(n), new Float64Array(n)];
      crossEntropy(z, identity(vocab), targets, weights, nll, lse, size);
      const dz = new Float64Array(n * vocab);
      const unused = new Float64Array(vocab * vocab);
      crossEntropyBackward(z, identity(vocab), targets, weights, lse, dz, unused, size);

      let [state, losses] = [poison(4 * n), poison(n)];
      const dims = { uniform: [n, 0, 0, 0] };
      const parts = tiles.map((count, i) => ({ count, base: tiles.slice(0, i).reduce((a, b) => a + b, 0) }));
      for (const { base, count } of parts) {
        const columns = Math.ceil(count / 4) * 4;
        const tile = { uniform: [base, count, 0, 0] };
        const slots = [dims, tile, tileOf(z, n, vocab, base, count), targets, state, losses];
        const out = await runKernel(device, kernels.crossEntropy(columns, 'n'), slots, { n });
        [state, losses] = [out[4]!, out[5]!];
      }
      expect(relativeError(losses, nll)).toBeLessThan(FORWARD);
      for (const { base, count } of parts) {
        const columns = Math.ceil(count / 4) * 4;
        const tile = { uniform: [base, count, 0, 0] };
        const slots = [dims, tile, tileOf(z, n, vocab, base, count), state, targets, shares];
        const out = await runKernel(device, kernels.crossEntropyBackward(columns, 'n'), slots, { n });
        const expected = tileOf(Float32Array.from(dz), n, vocab, base, count).map((v) =>
          Number.isNaN(v) ? 0 : v,
        );
        expect(relativeError(out[2]!, [...expected])).toBeLessThan(GRADIENT);
      }
    }
  });

  it.each([
    { count: 64, slices: 1, clip: 1e9 },
    { count: 640, slices: 8, clip: 0.5 },
    { count: 64 * 100, slices: 3, clip: 0.5 },
  ])('grad_norm and adamw agree with their twins at %o', async ({ count, slices, clip }) => {
    const rng = caseRng('update', count);
    const partials = reals(rng, count * slices);
    const threads = kernels.normThreads(count);
    const summed = await runKernel(
      device,
      kernels.gradNorm(count, slices),
      [partials, poison(count), poison(threads)],
      {},
    );
    const gradient = new Float64Array(count);
    for (let i = 0; i < count * slices; i++) gradient[i % count] = gradient[i % count]! + partials[i]!;
    expect(relativeError(summed[1]!, gradient)).toBeLessThan(GRADIENT);

    const options = { learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1, clip };
    const step = 3;
    const words = new Uint32Array(12);
    new Float32Array(words.buffer).set([
      ...[options.learningRate, 0.9, 0.999, 1 - 0.9, 1 - 0.999, options.epsilon, options.weightDecay, clip],
      ...[1 - 0.9 ** step, 1 - 0.999 ** step],
    ]);
    words[10] = 2;
    const uniform = { uniform: [...words] };
    const rows = 70;
    const [nll, shares] = [reals(rng, rows), reals(rng, rows)];
    const summary = await runKernel(
      device,
      kernels.stepSummary(count),
      [{ uniform: [rows, 0, 0, 0] }, uniform, summed[2]!, nll, shares, poison(4), poison(16)],
      {},
    );
    const norm = gradNorm(gradient);
    const loss = nll.reduce((sum, value, i) => sum + value * shares[i]!, 0);
    const expected = [loss, norm, Math.min(1, clip / norm), 0];
    expect(relativeError(summary[5]!, expected)).toBeLessThan(GRADIENT);
    expect(summary[6]!.subarray(8, 12)).toEqual(summary[5]);

    const [parameters, moment1] = [reals(rng, count), reals(rng, count, 0.1)];
    const moment2 = reals(rng, count, 0.1).map(Math.abs);
    const decays = Uint32Array.from({ length: count / 64 }, (_, i) => (i % 3 === 0 ? 1 : 0));
    const state = {
      parameters: Float64Array.from(parameters),
      gradient,
      moment1: Float64Array.from(moment1),
      moment2: Float64Array.from(moment2),
    };
    const tensors = [...decays].map((decay, i) => ({
      name: String(i),
      shape: decay ? [8, 8] : [64],
      offset: i * 64,
      size: 64,
    }));
    adamw(state, tensors, options, step, norm);
    const updated = await runKernel(
      device,
      kernels.adamw(count),
      [uniform, summed[1]!, summary[5]!, decays, parameters, moment1, moment2],
      {},
    );
    expect(relativeError(updated[4]!, state.parameters)).toBeLessThan(FORWARD);
    expect(relativeError(updated[5]!, state.moment1)).toBeLessThan(GRADIENT);
    expect(relativeError(updated[6]!, state.moment2)).toBeLessThan(GRADIENT);
  });

  it.each([0, 0.7])('sample draws what its twin draws at temperature %d', async (temperature) => {
    const [vocab, rollouts] = [37, 250];
    const rng = caseRng('sample', temperature);
    const n = 200;
    const z = reals(rng, n * vocab, 2);
    z.set(z.subarray(0, 1), 5);
    const owner = Uint32Array.from(rng.sample([...Array(rollouts).keys()], n));
    const positions = Uint32Array.from({ length: n }, () => rng.int(1000));
    const seed = 4_000_000_000;
    const turn = new Uint32Array([3, 9, seed, 0]);
    new Float32Array(turn.buffer)[3] = temperature;
    const sampled = new Uint32Array(rollouts * 2);
    const out = await runKernel(
      device,
      kernels.sample(vocab, rollouts, 'n'),
      [
        { uniform: [n, 1, 0, 0] },
        { uniform: [...turn] },
        tileOf(z, n, vocab, 0, vocab),
        owner,
        positions,
        new Uint32Array(4 * n),
        new Uint32Array(4),
        sampled,
      ],
      { n },
    );
    const words = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);
    expect([...words(out[6]!).subarray(0, 2)]).toEqual([n, 2]);
    const next = words(out[5]!);
    const tokens = words(out[7]!);
    let same = 0;
    for (let row = 0; row < n; row++) {
      const place = { seed, rollout: owner[row]!, position: positions[row]! + 1 };
      const expected = sample(z, row * vocab, vocab, temperature, place);
      const [rollout, position, token, goesOn] = next.subarray(4 * row, 4 * row + 4);
      expect([rollout, position, goesOn]).toEqual([owner[row], positions[row]! + 1, token === 3 ? 0 : 1]);
      expect(tokens[rollouts + owner[row]!]).toBe(token! + 1);
      if (token === expected) same++;
    }
    // Equal bits of the generator; a draw may differ only where rounding crosses a boundary of the CDF.
    expect(same).toBeGreaterThanOrEqual(temperature === 0 ? n : n - 1);
  });

  it('compact keeps the rows that go on, in order', async () => {
    for (const n of COUNTS) {
      const rng = caseRng('compact', n);
      const rows = Array.from({ length: n }, (_, i) => [i + 100, rng.int(50), rng.int(9), rng.int(2)]);
      const capacity = 256;
      const blank = () => new Uint32Array(capacity);
      const out = await runKernel(
        device,
        kernels.compact('n'),
        [
          Uint32Array.from([n, 5, 0, 0]),
          Uint32Array.from([...rows.flat(), ...new Array(4).fill(0)]),
          new Uint32Array([n, 4, 0, 0]),
          blank(),
          blank(),
          blank(),
        ],
        { n: Math.max(1, n) },
      );
      const kept = rows.filter((row) => row[3] === 1);
      const words = out.map((values) => [...new Uint32Array(values.buffer)]);
      expect(words[2]!.slice(0, 2)).toEqual([kept.length, 5]);
      for (const field of [0, 1, 2])
        expect(words[3 + field]!.slice(0, kept.length)).toEqual(kept.map((row) => row[field]));
    }
  });
});
