import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../src/gpu/device.ts';
import { matmulNn, matmulNt, matmulTn } from '../../src/gpu/matmul.ts';
import { gelu, geluBackward } from '../../src/policy/twin/gelu.ts';
import * as twin from '../../src/policy/twin/matmul.ts';
import { openTestDevice } from './device.ts';
import {
  addSlices,
  COUNTS,
  caseRng,
  chunkOf,
  FORWARD,
  GRADIENT,
  poison,
  reals,
  relativeError,
  runKernel,
  tilings,
} from './harness.ts';

/** Columns and depth: full tiles, ragged tiles, less than one tile; M also where it is no multiple of 4. */
const SIZES = [
  { m: 64, k: 64 },
  { m: 140, k: 32 },
  { m: 13, k: 12 },
  { m: 1, k: 4 },
];

/** Rows of an [n, m] array spread to a stride that is a multiple of 4, the excess `fill`. */
function padded(values: Float32Array, n: number, m: number, fill: number): Float32Array {
  const stride = Math.ceil(m / 4) * 4;
  const out = new Float32Array(n * stride).fill(fill);
  for (let row = 0; row < n; row++) out.set(values.subarray(row * m, row * m + m), row * stride);
  return out;
}

/** The first m columns of rows of a stride that is a multiple of 4. */
function unpadded(values: Float32Array, n: number, m: number): Float32Array {
  const stride = Math.ceil(m / 4) * 4;
  const out = new Float32Array(n * m);
  for (let row = 0; row < n; row++) out.set(values.subarray(row * stride, row * stride + m), row * m);
  return out;
}

describe('matrix products', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each(SIZES)('matmul_nt agrees with its twin at %o', async (size) => {
    const { m, k } = size;
    for (const tiling of tilings(device))
      for (const n of COUNTS) {
        const rng = caseRng('nt', m, k, n);
        const [a, b, residual] = [reals(rng, n * k), reals(rng, m * k), reals(rng, n * m)];
        const product = new Float64Array(n * m);
        twin.matmulNt(a, b, product, { n, ...size });
        const dims = { uniform: [n, 0, 0, 0] };
        const out = poison(n * Math.ceil(m / 4) * 4);
        const plain = await runKernel(device, matmulNt(size, tiling, 'plain', 'n'), [dims, a, b, out], { n });
        expect(relativeError(unpadded(plain[3]!, n, m), product)).toBeLessThan(FORWARD);
        if (m % 4 !== 0) continue;
        const added = await runKernel(
          device,
          matmulNt(size, tiling, 'residual', 'n'),
          [dims, a, b, out, residual],
          { n },
        );
        expect(
          relativeError(
            added[3]!,
            product.map((p, i) => p + residual[i]!),
          ),
        ).toBeLessThan(FORWARD);
        const both = await runKernel(
          device,
          matmulNt(size, tiling, 'gelu', 'n'),
          [dims, a, b, out, poison(n * m)],
          { n },
        );
        const activated = new Float64Array(n * m);
        gelu(product, activated, n * m);
        expect(relativeError(both[3]!, product)).toBeLessThan(FORWARD);
        expect(relativeError(both[4]!, activated)).toBeLessThan(FORWARD);
      }
  });

  it.each(SIZES)('matmul_nn agrees with its twin at %o', async (size) => {
    const { m, k } = size;
    for (const tiling of tilings(device))
      for (const n of COUNTS) {
        const rng = caseRng('nn', m, k, n);
        const [a, b, held, before] = [
          reals(rng, n * m),
          reals(rng, m * k),
          reals(rng, n * k),
          reals(rng, n * k, 2),
        ];
        const product = new Float64Array(n * k);
        twin.matmulNn(a, b, product, { n, ...size });
        const inputs = [{ uniform: [n, 0, 0, 0] }, padded(a, n, m, 0), b];
        const plain = await runKernel(
          device,
          matmulNn(size, tiling, 'plain', 'n'),
          [...inputs, poison(n * k)],
          { n },
        );
        expect(relativeError(plain[3]!, product)).toBeLessThan(GRADIENT);
        const added = await runKernel(device, matmulNn(size, tiling, 'accumulate', 'n'), [...inputs, held], {
          n,
        });
        expect(
          relativeError(
            added[3]!,
            product.map((p, i) => p + held[i]!),
          ),
        ).toBeLessThan(GRADIENT);
        const through = await runKernel(
          device,
          matmulNn(size, tiling, 'geluBackward', 'n'),
          [...inputs, poison(n * k), before],
          { n },
        );
        const expected = new Float64Array(n * k);
        geluBackward(before, product, expected, n * k);
        expect(relativeError(through[3]!, expected)).toBeLessThan(GRADIENT);
      }
  });

  it.each(SIZES)('the slices of matmul_tn add up to its twin at %o', async (size) => {
    const { m, k } = size;
    const slices = 3;
    const stride = Math.ceil((m * k) / 64) * 64;
    for (const tiling of tilings(device))
      for (const n of COUNTS) {
        const rng = caseRng('tn', m, k, n);
        const [a, b] = [reals(rng, n * m), reals(rng, n * k)];
        const out = poison(stride * slices);
        // What stands in a row's excess columns must not matter, nor what stands behind the matrix be touched.
        const inputs = [{ uniform: [n, chunkOf(n, slices), 0, 0] }, padded(a, n, m, 7), b, out];
        const kernel = matmulTn(size, tiling, { slices, stride });
        const [, , , partials] = await runKernel(device, kernel, inputs, { n });
        const expected = new Float64Array(m * k);
        twin.matmulTn(a, b, expected, { n, ...size });
        expect(relativeError(addSlices(partials!, slices, stride, m * k), expected)).toBeLessThan(GRADIENT);
        expect(partials!.subarray(m * k, stride).every(Number.isNaN)).toBe(true);
      }
  });
});
