import type { Rng } from '../../../src/base/rng.ts';
import { crossEntropy, crossEntropyBackward } from '../../../src/policy/twin/crossEntropy.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { drawUntil, poison, reals, rms, widen } from '../numbers.ts';
import { BRIEF, type Check, COUNTS, FORWARD, GRADIENT, type KernelCase } from './case.ts';

/** The identity: with it as hidden rows' matrix the twin's logits are the hidden rows themselves. */
function identity(size: number): Float64Array {
  const eye = new Float64Array(size * size);
  for (let i = 0; i < size; i++) eye[i * size + i] = 1;
  return eye;
}

/** Columns base … base + count − 1 of z [n, vocab]. */
function columnsOf(z: ArrayLike<number>, n: number, vocab: number, base: number, count: number) {
  return Float32Array.from({ length: n * count }, (_, i) => {
    const row = Math.floor(i / count);
    return z[row * vocab + base + (i % count)]!;
  });
}

function draw(rng: Rng, n: number, vocab: number) {
  const z = reals(rng, n * vocab, 4);
  const targets = Uint32Array.from({ length: n }, () => rng.int(vocab));
  const weights = Float64Array.from({ length: n }, () => 0.25 + rng.float());
  const size = { n, d: vocab, v: vocab };
  const [nll, lse] = [new Float64Array(n), new Float64Array(n)];
  crossEntropy(z, identity(vocab), targets, weights, nll, lse, size);
  const dz = new Float64Array(n * vocab);
  crossEntropyBackward(z, identity(vocab), targets, weights, lse, dz, new Float64Array(vocab * vocab), size);
  const total = weights.reduce((a, b) => a + b, 0);
  return { z, targets, shares: Float32Array.from(weights, (w) => w / total), nll, dz };
}

/** A vocabulary in tiles, the last ragged, whose logits stand in rows of a multiple of 4 columns. */
const loss = (vocab: number, counts: readonly number[], lanes = 1): KernelCase => ({
  name: `cross_entropy and its gradient over ${vocab} tokens in tiles of ${counts.join(', ')}, ${lanes} threads a row`,
  proves: ['cross_entropy', 'cross_entropy_backward'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const { z, targets, shares, nll, dz } = drawUntil(
      rng,
      () => draw(rng, n, vocab),
      (drawn) => n === 0 || (rms(drawn.nll) > 0.5 && rms(drawn.dz) * n > 1e-3),
    );
    let [state, losses] = [poison(4 * n), poison(n)];
    const dims = { uniform: [n, 0, 0, 0] };
    const tiles = counts.map((count, i) => {
      const base = counts.slice(0, i).reduce((a, b) => a + b, 0);
      const columns = Math.ceil(count / 4) * 4;
      const logits = widen(columnsOf(z, n, vocab, base, count), n, count, Number.NaN);
      return { base, count, columns, logits, uniform: { uniform: [base, count, 0, 0] } };
    });
    for (const { columns, logits, uniform } of tiles) {
      const slots = [dims, uniform, logits, targets, state, losses];
      const out = await bench.run(kernels.crossEntropy(columns, 'n', { lanes }), slots, { n });
      [state, losses] = [out[4]!, out[5]!];
    }
    const checks: Check[] = [{ name: 'nll', out: losses, reference: nll, bound: FORWARD }];
    for (const { base, count, columns, logits, uniform } of tiles) {
      const slots = [dims, uniform, logits, state, targets, shares];
      const out = await bench.run(kernels.crossEntropyBackward(columns, 'n'), slots, { n });
      const reference = widen(columnsOf(dz, n, vocab, base, count), n, count, 0);
      checks.push({ name: `dz from ${base} on`, out: out[2]!, reference, bound: GRADIENT });
    }
    return checks;
  },
});

export const lossCases: readonly KernelCase[] = [
  loss(5, [5]),
  loss(140, [140]),
  loss(141, [64, 64, 13]),
  loss(141, [64, 64, 13], 32),
];
