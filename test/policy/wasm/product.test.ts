import { beforeAll, describe, expect, it } from 'vitest';
import * as twin from '../../../src/policy/twin/matmul.ts';
import { matmulNn, matmulNt, matmulTn } from '../../../src/policy/wasm/kernels.ts';
import { reals, relativeError } from '../../kernel/numbers.ts';
import { Bench, COUNTS, caseRng, FORWARD } from './bench.ts';

const ours = { nt: matmulNt, nn: matmulNn, tn: matmulTn };
const twins = { nt: twin.matmulNt, nn: twin.matmulNn, tn: twin.matmulTn };
type Layout = keyof typeof ours;

/** Entries of the factors and of the result. */
function counts(layout: Layout, n: number, m: number, k: number): [number, number, number] {
  if (layout === 'nt') return [n * k, m * k, n * m];
  return layout === 'nn' ? [n * m, m * k, n * k] : [n * m, n * k, m * k];
}

describe.each(['nt', 'nn', 'tn'] as const)('matmul %s', (layout) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  // 600 is more than the terms and the columns that are taken at a time, 1 and 7 no multiple of a tile.
  const sides = [
    [64, 48],
    [7, 1],
    [1, 600],
    [600, 13],
    [11, 30],
  ] as const;
  it.each(COUNTS.flatMap((n) => sides.map(([m, k]) => [n, m, k])))('N %i, M %i, K %i', (n, m, k) => {
    const rng = caseRng(layout, n, m, k);
    const [sizeA, sizeB, sizeC] = counts(layout, n, m, k);
    const [a, b, addend] = [reals(rng, sizeA), reals(rng, sizeB), reals(rng, sizeC)];
    const size = { n, m, k };
    const at = { a: bench.put(a), b: bench.put(b) };
    const reference = new Float64Array(sizeC);
    // With N = 0 the sum over rows has no terms: kernels are asked only to add it.
    if (layout !== 'tn' || n > 0) {
      const c = bench.room(sizeC);
      ours[layout](bench.kernels, { ...at, c, ...size });
      twins[layout](a, b, reference, size);
      expect(bench.error(c, reference)).toBeLessThan(FORWARD);
    }
    reference.set(addend);
    twins[layout](a, b, reference, size, true);
    const inPlace = bench.put(addend);
    ours[layout](bench.kernels, { ...at, c: inPlace, addend: inPlace, ...size });
    expect(bench.error(inPlace, reference)).toBeLessThan(FORWARD);
    if (n === 0) return;
    const apart = bench.room(sizeC);
    ours[layout](bench.kernels, { ...at, c: apart, addend: bench.put(addend), ...size });
    expect(relativeError(bench.read(apart, sizeC), bench.read(inPlace, sizeC))).toBe(0);
  });

  it('gives an entry the same bits wherever it lies', () => {
    const [n, m, k] = [9, 13, 30] as const;
    const rng = caseRng(layout, 'place');
    const [sizeA, sizeB, sizeC] = counts(layout, n, m, k);
    const [a, b] = [reals(rng, sizeA), reals(rng, sizeB)];
    const whole = bench.room(sizeC);
    ours[layout](bench.kernels, { a: bench.put(a), b: bench.put(b), c: whole, n, m, k });
    if (layout === 'tn') return;
    const width = layout === 'nt' ? m : k;
    const depth = layout === 'nt' ? k : m;
    for (let row = 0; row < n; row++) {
      const alone = bench.room(width);
      const one = bench.put(a.slice(row * depth, (row + 1) * depth));
      ours[layout](bench.kernels, { a: one, b: bench.put(b), c: alone, n: 1, m, k });
      const wanted = bench.read(whole, sizeC).slice(row * width, (row + 1) * width);
      expect([...bench.read(alone, width)]).toEqual([...wanted]);
    }
  });
});
