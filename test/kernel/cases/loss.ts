import type { Rng } from '../../../src/base/rng.ts';
import { crossEntropy, crossEntropyBackward } from '../../../src/policy/twin/crossEntropy.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { drawUntil, poison, range, reals, rms, widen } from '../numbers.ts';
import { BRIEF, type Check, COUNTS, EXACT, FORWARD, GRADIENT, type KernelCase } from './case.ts';

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

function draw(rng: Rng, n: number, vocab: number, scale: number) {
  const z = reals(rng, n * vocab, scale);
  const targets = Uint32Array.from({ length: n }, () => rng.int(vocab));
  const weights = Float64Array.from({ length: n }, () => 0.25 + rng.float());
  const size = { n, d: vocab, v: vocab };
  const [nll, lse] = [new Float64Array(n), new Float64Array(n)];
  crossEntropy(z, identity(vocab), targets, weights, nll, lse, size);
  const dz = new Float64Array(n * vocab);
  crossEntropyBackward(z, identity(vocab), targets, weights, lse, dz, new Float64Array(vocab * vocab), size);
  const total = weights.reduce((a, b) => a + b, 0);
  return { z, targets, shares: Float32Array.from(weights, (w) => w / total), nll, lse, dz };
}

/** How a loss is taken: vocabulary, counts of its tiles, threads a row, and the size of the logits. */
interface Variant {
  vocab: number;
  counts: readonly number[];
  lanes?: number;
  /** At 40 a sum without its maximum taken off overflows. */
  scale?: number;
}

/** What stands in the columns that fill up a row: were it used, it would outweigh everything. */
const FILL = 1e30;

/** A vocabulary in tiles, the last ragged, whose logits stand in rows of a multiple of 4 columns. */
const loss = ({ vocab, counts, lanes = 1, scale = 4 }: Variant): KernelCase => ({
  name: `cross_entropy and its gradient over ${vocab} tokens in tiles of ${counts.join(', ')}, ${lanes} threads a row, logits of size ${scale}`,
  proves: ['cross_entropy', 'cross_entropy_backward'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const { z, targets, shares, nll, lse, dz } = drawUntil(
      rng,
      () => draw(rng, n, vocab, scale),
      (drawn) => n === 0 || (rms(drawn.nll) > 0.5 && rms(drawn.dz) * n > 1e-3),
    );
    let [state, losses] = [poison(4 * n), poison(n)];
    const dims = { uniform: [n, 0, 0, 0] };
    const tiles = counts.map((count, i) => {
      const base = counts.slice(0, i).reduce((a, b) => a + b, 0);
      const columns = Math.ceil(count / 4) * 4;
      const logits = widen(columnsOf(z, n, vocab, base, count), n, count, FILL);
      return { base, count, columns, logits, uniform: { uniform: [base, count, 0, 0] } };
    });
    for (const { columns, logits, uniform } of tiles) {
      const slots = [dims, uniform, logits, targets, state, losses];
      const out = await bench.run(kernels.crossEntropy(columns, 'n', { lanes }), slots, { n });
      [state, losses] = [out[4]!, out[5]!];
    }
    const rowsOf = range(n).map((row) => z.subarray(row * vocab, (row + 1) * vocab));
    const tops = rowsOf.map((row) => Math.max(...row));
    const sums = tops.map((top, row) => Math.exp(lse[row]! - top));
    const field = (at: number) => range(n).map((row) => state[4 * row + at]!);
    const checks: Check[] = [
      { name: 'nll', out: losses, reference: nll, bound: FORWARD },
      { name: 'maxima', out: field(0), reference: tops, bound: EXACT },
      { name: 'sums', out: field(1), reference: sums, bound: FORWARD },
      {
        name: 'logits of the targets',
        out: field(2),
        reference: rowsOf.map((row, i) => row[targets[i]!]!),
        bound: EXACT,
      },
      { name: 'lse', out: field(3), reference: lse, bound: FORWARD },
    ];
    for (const { base, count, columns, logits, uniform } of tiles) {
      const slots = [dims, uniform, logits, state, targets, shares];
      const out = await bench.run(kernels.crossEntropyBackward(columns, 'n'), slots, { n });
      const reference = widen(columnsOf(dz, n, vocab, base, count), n, count, 0);
      checks.push({ name: `dz from ${base} on`, out: out[2]!, reference, bound: GRADIENT });
    }
    return checks;
  },
});

/** Tails of every length behind the last whole vec4, whole tiles, and rows that all threads have a part of. */
export const lossCases: readonly KernelCase[] = [
  { vocab: 5, counts: [1, 4] },
  { vocab: 6, counts: [6] },
  { vocab: 7, counts: [7] },
  { vocab: 140, counts: [140], scale: 40 },
  { vocab: 141, counts: [64, 64, 13] },
  { vocab: 141, counts: [64, 64, 13], lanes: 4, scale: 40 },
  { vocab: 142, counts: [142], lanes: 32 },
].map(loss);
