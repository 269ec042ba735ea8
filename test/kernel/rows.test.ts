import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../src/gpu/device.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { readBuffer } from '../../src/gpu/read.ts';
import * as twin from '../../src/policy/twin/embed.ts';
import { rmsNorm, rmsNormBackward } from '../../src/policy/twin/norm.ts';
import { rotary } from '../../src/policy/twin/rotary.ts';
import { createTurns } from '../../src/policy/webgpu/activations.ts';
import * as kernels from '../../src/policy/webgpu/kernels.ts';
import { openTestDevice } from './device.ts';
import {
  addSlices,
  COUNTS,
  caseRng,
  chunkOf,
  FORWARD,
  GRADIENT,
  poison,
  ragged,
  reals,
  relativeError,
  runKernel,
} from './harness.ts';

describe('kernels over rows', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each([4, 12, 64])('embed_gather and embed_scatter agree with their twins at width %i', async (d) => {
    const vocab = 11;
    for (const n of COUNTS) {
      const rng = caseRng('embed', n, d);
      const tokens = Uint32Array.from({ length: n }, () => rng.int(vocab));
      const embed = reals(rng, vocab * d);
      const dims = { uniform: [n, 0, 0, 0] };
      const gathered = await runKernel(
        device,
        kernels.embedGather(d, 'n'),
        [dims, tokens, embed, poison(n * d)],
        {
          n,
        },
      );
      const x = new Float64Array(n * d);
      twin.embedGather(tokens, embed, x, { n, d });
      expect(relativeError(gathered[3]!, x)).toBe(0);

      const distinct = [...new Set(tokens)].sort((a, b) => a - b);
      const groups = distinct.map((token) => [...tokens.keys()].filter((i) => tokens[i] === token));
      const bounds = Uint32Array.from([0, ...groups.map((_, i) => groups.slice(0, i + 1).flat().length)]);
      const [dx, held] = [reals(rng, n * d), reals(rng, vocab * d)];
      const scattered = await runKernel(
        device,
        kernels.embedScatter(d),
        [
          { uniform: [n, 0, distinct.length, 0] },
          Uint32Array.from(distinct),
          bounds,
          Uint32Array.from(groups.flat()),
          dx,
          held,
        ],
        { distinct: distinct.length },
      );
      const expected = Float64Array.from(held);
      twin.embedScatter(tokens, dx, expected, { n, d });
      expect(relativeError(scattered[5]!, expected)).toBeLessThan(GRADIENT);
    }
  });

  it.each([4, 12, 64])('rms_norm and its gradient agree with their twins at width %i', async (d) => {
    const slices = 3;
    const stride = 128;
    for (const n of COUNTS) {
      const rng = caseRng('norm', n, d);
      const [x, gain, dy, held] = [reals(rng, n * d), reals(rng, d), reals(rng, n * d), reals(rng, n * d)];
      const dims = { uniform: [n, chunkOf(n, slices), 0, 0] };
      const forward = await runKernel(
        device,
        kernels.rmsNorm(d, 'n'),
        [dims, x, gain, poison(n * d), poison(n)],
        { n },
      );
      const y = new Float64Array(n * d);
      rmsNorm(x, gain, y, { n, d });
      expect(relativeError(forward[3]!, y)).toBeLessThan(FORWARD);
      const inverse = forward[4]!;
      const dx = Float64Array.from(held);
      const dGain = new Float64Array(d);
      rmsNormBackward(x, gain, dy, dx, dGain, { n, d }, true);
      const backward = await runKernel(
        device,
        kernels.rmsNormBackward(d, 'n'),
        [dims, x, gain, dy, inverse, held],
        { n },
      );
      expect(relativeError(backward[5]!, dx)).toBeLessThan(GRADIENT);
      const gains = await runKernel(
        device,
        kernels.rmsNormGain(d, { slices, stride }),
        [dims, x, dy, inverse, poison(slices * stride)],
        { n },
      );
      expect(relativeError(addSlices(gains[4]!, slices, stride, d), dGain)).toBeLessThan(GRADIENT);
    }
  });

  it('spread_rows puts rows back where a gather took them, and 0 elsewhere', async () => {
    const d = 12;
    for (const n of COUNTS) {
      const rng = caseRng('spread', n);
      const rows = Uint32Array.from([...Array(n).keys()].filter(() => rng.chance(0.4)));
      const places = new Uint32Array(n);
      for (const [i, row] of rows.entries()) places[row] = i + 1;
      const x = reals(rng, rows.length * d);
      const dims = { uniform: [n, 0, 0, 0] };
      const spread = await runKernel(device, kernels.spreadRows(d, 'n'), [dims, places, x, poison(n * d)], {
        n,
      });
      const expected = new Float64Array(n * d);
      for (const [i, row] of rows.entries()) expected.set(x.subarray(i * d, i * d + d), row * d);
      expect(relativeError(spread[3]!, expected)).toBe(0);
    }
  });

  it.each([
    { heads: 4, headWidth: 16 },
    { heads: 2, headWidth: 6 },
    { heads: 1, headWidth: 2 },
  ])('rotary agrees with its twin in both directions at %o', async (size) => {
    const context = 4096;
    const width = size.heads * size.headWidth;
    const memory = new Memory(device.gpu, 'the test');
    const shape = { vocab: 2, width, layers: 1, heads: size.heads, hidden: 4, context };
    const turns = new Float32Array(
      await readBuffer(device.gpu, createTurns(device.gpu, memory, shape), context * size.headWidth * 4),
    );
    memory.destroy();
    for (const n of COUNTS)
      for (const direction of [1, -1] as const) {
        const rng = caseRng('rotary', n, size.heads);
        const positions = n === 1 ? Uint32Array.of(context - 1) : ragged(rng, n).positions;
        const qkv = reals(rng, n * 3 * width);
        const out = await runKernel(
          device,
          kernels.rotary(size, 'n', direction),
          [{ uniform: [n, 0, 0, 0] }, positions, turns, qkv],
          { n },
        );
        const expected = Float64Array.from(qkv);
        rotary(expected, positions, { n, ...size }, direction);
        expect(relativeError(out[3]!, expected)).toBeLessThan(FORWARD);
      }
  });
});
