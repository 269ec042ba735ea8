import {
  matmulNn,
  matmulNt,
  matmulTn,
  type NnEpilogue,
  type NtEpilogue,
  type Tiling,
  tilingFor,
} from '../../../src/gpu/matmul.ts';
import { gelu, geluBackward } from '../../../src/policy/twin/gelu.ts';
import * as twin from '../../../src/policy/twin/matmul.ts';
import { chunkOf, drawUntil, narrow, partsOf, poison, range, reals, rms, widen } from '../numbers.ts';
import { BRIEF, type Check, COUNTS, FORWARD, GRADIENT, type KernelCase } from './case.ts';
import { untouched } from './rows.ts';

/** Columns and depth: full tiles, ragged tiles, less than one tile; M also where it is no multiple of 4. */
const SIZES = [
  { m: 64, k: 64 },
  { m: 140, k: 32 },
  { m: 13, k: 12 },
  { m: 1, k: 4 },
];

/** The same for a workgroup's tiles of 64 × 64 and 16 terms, which a software device takes long for. */
const SHARED_SIZES = [
  { m: 140, k: 36 },
  { m: 1, k: 4 },
];

const sizesOf = ({ shared }: Tiling) => (shared ? SHARED_SIZES : SIZES);

/** Tiles of both kinds of device, the one whose lanes share loads, and a workgroup's. */
const TILINGS: readonly Tiling[] = [
  tilingFor({ software: false, quads: false }),
  tilingFor({ software: true, quads: false }),
  tilingFor({ software: true, quads: true }),
  tilingFor({ software: false, quads: false }, { kind: 'nt', rows: 512, m: 64, k: 64 }),
];

const named = ({ rows, columns4, subgroups, shared }: Tiling): string =>
  `${rows} × ${columns4 * 4} a ${shared ? 'workgroup' : 'thread'}${subgroups ? ', lanes sharing loads' : ''}`;

/** Tiles for few rows. */
const LOW: readonly Tiling[] = [
  tilingFor({ software: true, quads: true }, { kind: 'nt', rows: 7, m: 64, k: 64 }),
  tilingFor({ software: true, quads: false }, { kind: 'nt', rows: 1, m: 64, k: 64 }),
  tilingFor({ software: false, quads: false }, { kind: 'nt', rows: 3, m: 64, k: 64 }),
];

const fileOf = (file: string, { shared }: Tiling): string => (shared ? 'matmul_shared' : file);

const common = (tiling: Tiling) => ({
  counts: tiling.shared ? [0, 1, 65, 200] : COUNTS,
  brief: BRIEF,
  quads: tiling.subgroups,
});

const nt = (tiling: Tiling, epilogue: NtEpilogue): KernelCase => ({
  name: `matmul_nt ${epilogue}, ${named(tiling)}`,
  proves: [fileOf('matmul_nt', tiling)],
  ...common(tiling),
  async run(bench, n, rng) {
    const checks: Check[] = [];
    // Only plain products have a number of columns that is no multiple of 4: logits of a ragged vocabulary.
    for (const { m, k } of sizesOf(tiling).filter(({ m }) => epilogue === 'plain' || m % 4 === 0)) {
      const { a, b, product } = drawUntil(
        rng,
        () => {
          // Products of size 1 before gelu, where it bends.
          const [a, b] = [reals(rng, n * k), reals(rng, m * k, epilogue === 'gelu' ? 1 / Math.sqrt(k) : 1)];
          const product = new Float64Array(n * m);
          twin.matmulNt(a, b, product, { n, m, k });
          return { a, b, product };
        },
        (drawn) => n === 0 || rms(drawn.product) > 0.1,
      );
      const other = epilogue === 'residual' ? reals(rng, n * m) : poison(n * m);
      const slots = [{ uniform: [n, 0, 0, 0] }, a, b, poison(n * Math.ceil(m / 4) * 4)];
      if (epilogue !== 'plain') slots.push(other);
      const out = await bench.run(matmulNt({ m, k }, tiling, epilogue, 'n'), slots, { n });
      const reference = epilogue === 'residual' ? product.map((p, i) => p + other[i]!) : product;
      checks.push({ name: `C ${m}×${k}`, out: narrow(out[3]!, n, m), reference, bound: FORWARD });
      if (epilogue !== 'gelu') continue;
      const activated = new Float64Array(n * m);
      gelu(product, activated, n * m);
      checks.push({ name: `gelu(C) ${m}×${k}`, out: out[4]!, reference: activated, bound: FORWARD });
    }
    return checks;
  },
});

const nn = (tiling: Tiling, epilogue: NnEpilogue): KernelCase => ({
  name: `matmul_nn ${epilogue}, ${named(tiling)}`,
  proves: [fileOf('matmul_nn', tiling)],
  ...common(tiling),
  async run(bench, n, rng) {
    const checks: Check[] = [];
    for (const { m, k } of sizesOf(tiling)) {
      const { a, b, before, reference } = drawUntil(
        rng,
        () => {
          const [a, b] = [reals(rng, n * m), reals(rng, m * k)];
          const before = reals(rng, n * k, 2);
          const product = new Float64Array(n * k);
          twin.matmulNn(a, b, product, { n, m, k });
          const reference = product.map((p, i) => p + before[i]!);
          if (epilogue === 'plain') reference.set(product);
          if (epilogue === 'geluBackward') geluBackward(before, product, reference, n * k);
          return { a, b, before, reference };
        },
        (drawn) => n === 0 || rms(drawn.reference) > 0.01,
      );
      const slots = [{ uniform: [n, 0, 0, 0] }, widen(a, n, m, 0), b];
      slots.push(epilogue === 'accumulate' ? before : poison(n * k));
      if (epilogue === 'geluBackward') slots.push(before);
      const out = await bench.run(matmulNn({ m, k }, tiling, epilogue, 'n'), slots, { n });
      checks.push({ name: `C ${m}×${k}`, out: out[3]!, reference, bound: GRADIENT });
    }
    return checks;
  },
});

const tn = (tiling: Tiling): KernelCase => ({
  name: `matmul_tn, ${named(tiling)}`,
  proves: [fileOf('matmul_tn', tiling)],
  ...common(tiling),
  async run(bench, n, rng) {
    const checks: Check[] = [];
    for (const { m, k } of sizesOf(tiling)) {
      const slicing = { slices: 3, stride: Math.ceil((m * k) / 64) * 64 };
      const [a, b] = [reals(rng, n * m), reals(rng, n * k)];
      const chunk = chunkOf(n, slicing.slices);
      const expected = range(slicing.slices).flatMap((s) => {
        const [from, to] = [s, s + 1].map((at) => Math.min(n, at * chunk)) as [number, number];
        const part = new Float64Array(m * k);
        const size = { n: to - from, m, k };
        twin.matmulTn(a.subarray(from * m, to * m), b.subarray(from * k, to * k), part, size);
        return [...part];
      });
      // What stands in a row's excess columns must not matter.
      const slots = [{ uniform: [n, chunk, 0, 0] }, widen(a, n, m, Number.NaN), b];
      const out = poison(slicing.stride * slicing.slices);
      const partials = (await bench.run(matmulTn({ m, k }, tiling, slicing), [...slots, out], { n }))[3]!;
      checks.push(
        {
          name: `C ${m}×${k} by slices`,
          out: partsOf(partials, slicing, m * k),
          reference: expected,
          bound: GRADIENT,
        },
        untouched(`behind the slices of C ${m}×${k}`, partials, slicing, m * k),
      );
    }
    return checks;
  },
});

const NT: readonly NtEpilogue[] = ['plain', 'residual', 'gelu'];
const NN: readonly NnEpilogue[] = ['plain', 'accumulate', 'geluBackward'];

export const matmulCases: readonly KernelCase[] = [
  ...LOW.map((tiling) => nt(tiling, 'plain')),
  ...TILINGS.flatMap((tiling) => [
    ...NT.map((epilogue) => nt(tiling, epilogue)),
    ...NN.map((epilogue) => nn(tiling, epilogue)),
    tn(tiling),
  ]),
];
