import { embedGather, embedScatter } from '../../../src/policy/twin/embed.ts';
import { rmsNorm, rmsNormBackward } from '../../../src/policy/twin/norm.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { chunkOf, partsOf, poison, range, reals, rms, type Slices } from '../numbers.ts';
import { BRIEF, type Check, COUNTS, EXACT, FORWARD, GRADIENT, type KernelCase } from './case.ts';

const WIDTHS = [4, 12, 64];
const rows = { counts: COUNTS, brief: BRIEF };

const gather = (d: number): KernelCase => ({
  name: `embed_gather of width ${d}`,
  proves: ['embed_gather'],
  ...rows,
  async run(bench, n, rng) {
    const vocab = 11;
    const tokens = Uint32Array.from({ length: n }, () => rng.int(vocab));
    const embed = reals(rng, vocab * d);
    const slots = [{ uniform: [n, 0, 0, 0] }, tokens, embed, poison(n * d)];
    const out = await bench.run(kernels.embedGather(d, 'n'), slots, { n });
    const x = new Float64Array(n * d);
    embedGather(tokens, embed, x, { n, d });
    return [{ name: 'x', out: out[3]!, reference: x, bound: EXACT }];
  },
});

const scatter = (d: number): KernelCase => ({
  name: `embed_scatter of width ${d}`,
  proves: ['embed_scatter'],
  ...rows,
  async run(bench, n, rng) {
    // Where there are rows enough every token occurs, so that the threads fill their workgroups.
    const vocab = 64;
    const tokens = Uint32Array.from(
      rng.shuffle(range(n).map((i) => (n > vocab && i < vocab ? i : rng.int(vocab)))),
    );
    const [dx, held] = [reals(rng, n * d), reals(rng, vocab * d)];
    const distinct = [...new Set(tokens)].sort((a, b) => a - b);
    const groups = distinct.map((token) => [...tokens.keys()].filter((i) => tokens[i] === token));
    const bounds = [0, ...groups.map((_, i) => groups.slice(0, i + 1).flat().length)];
    const lists = [distinct, bounds, groups.flat()].map((list) => Uint32Array.from(list));
    const slots = [{ uniform: [n, 0, distinct.length, 0] }, ...lists, dx, held];
    const out = await bench.run(kernels.embedScatter(d), slots, { distinct: distinct.length });
    const expected = Float64Array.from(held);
    embedScatter(tokens, dx, expected, { n, d });
    return [{ name: 'dE', out: out[5]!, reference: expected, bound: GRADIENT }];
  },
});

/** Rows of size 1, and rows so small that the epsilon under the root is as large as they are. */
const norm = (d: number, scale: number, lanes = 1): KernelCase => ({
  name: `rms_norm and its gradient of width ${d}, rows of size ${scale}, ${lanes} threads a row`,
  proves: ['rms_norm', 'rms_norm_backward', 'rms_norm_gain'],
  ...rows,
  async run(bench, n, rng) {
    // 24 slices of 64 columns fill a grid of 3 × 2 workgroups.
    const slicing = { slices: d === 64 ? 24 : 3, stride: 128 };
    const [x, gain, dy, held] = [
      reals(rng, n * d, scale),
      reals(rng, d),
      reals(rng, n * d),
      reals(rng, n * d, 1 / scale),
    ];
    const [y, dx] = [new Float64Array(n * d), Float64Array.from(held)];
    rmsNorm(x, gain, y, { n, d });
    rmsNormBackward(x, gain, dy, dx, new Float64Array(d), { n, d }, true);
    const chunk = chunkOf(n, slicing.slices);
    const dGains = range(slicing.slices).flatMap((s) => {
      const [from, to] = [s, s + 1].map((at) => Math.min(n, at * chunk)) as [number, number];
      const [own, dOwn] = [x, dy].map((all) => all.subarray(from * d, to * d)) as [
        Float32Array,
        Float32Array,
      ];
      const dGain = new Float64Array(d);
      rmsNormBackward(own, gain, dOwn, new Float64Array(own.length), dGain, { n: to - from, d });
      return [...dGain];
    });
    const inverseRms = range(n).map(
      (row) => 1 / Math.sqrt(rms(x.subarray(row * d, row * d + d)) ** 2 + 1e-6),
    );
    const dims = { uniform: [n, chunk, 0, 0] };
    const forward = await bench.run(
      kernels.rmsNorm(d, 'n', { lanes }),
      [dims, x, gain, poison(n * d), poison(n)],
      {
        n,
      },
    );
    const inverse = forward[4]!;
    const through = await bench.run(
      kernels.rmsNormBackward(d, 'n', { lanes }),
      [dims, x, gain, dy, inverse, held],
      {
        n,
      },
    );
    const out = poison(slicing.slices * slicing.stride);
    const partials = (
      await bench.run(kernels.rmsNormGain(d, slicing), [dims, x, dy, inverse, out], { n })
    )[4]!;
    return [
      { name: 'y', out: forward[3]!, reference: y, bound: FORWARD },
      { name: 'inverse', out: inverse, reference: inverseRms, bound: FORWARD },
      { name: 'dx', out: through[5]!, reference: dx, bound: GRADIENT },
      { name: 'dgain by slices', out: partsOf(partials, slicing, d), reference: dGains, bound: GRADIENT },
      untouched('between the slices of dgain', partials, slicing, d),
    ];
  },
});

/** What stands between the slices of a partial gradient belongs to other tensors. */
export function untouched(
  name: string,
  partials: Float32Array,
  { slices, stride }: Slices,
  count: number,
): Check {
  const written = range(slices).flatMap((s) =>
    [...partials.subarray(s * stride + count, (s + 1) * stride)].filter((value) => !Number.isNaN(value)),
  );
  return { name, out: [written.length], reference: [0], bound: EXACT };
}

const spread = (d: number): KernelCase => ({
  name: `spread_rows of width ${d}`,
  proves: ['spread_rows'],
  ...rows,
  async run(bench, n, rng) {
    const trained = range(n).filter(() => rng.chance(0.4));
    const places = new Uint32Array(n);
    for (const [i, row] of trained.entries()) places[row] = i + 1;
    const x = reals(rng, trained.length * d);
    const out = await bench.run(
      kernels.spreadRows(d, 'n'),
      [{ uniform: [n, 0, 0, 0] }, places, x, poison(n * d)],
      { n },
    );
    const expected = new Float64Array(n * d);
    for (const [i, row] of trained.entries()) expected.set(x.subarray(i * d, i * d + d), row * d);
    return [{ name: 'y', out: out[3]!, reference: expected, bound: EXACT }];
  },
});

export const rowCases: readonly KernelCase[] = [
  ...WIDTHS.flatMap((d) => [gather(d), scatter(d), norm(d, 1), norm(d, 1e-3), spread(d)]),
  norm(64, 1, 4),
  norm(12, 1, 8),
];
