import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../src/gpu/device.ts';
import * as twin from '../../src/policy/twin/attention.ts';
import { decodeAttention, storeKeyValue } from '../../src/policy/twin/decode.ts';
import { rotary } from '../../src/policy/twin/rotary.ts';
import * as kernels from '../../src/policy/webgpu/kernels.ts';
import { openTestDevice } from './device.ts';
import {
  COUNTS,
  caseRng,
  FORWARD,
  GRADIENT,
  poison,
  ragged,
  reals,
  relativeError,
  runKernel,
} from './harness.ts';

const HEADS = [
  { heads: 4, headWidth: 16 },
  { heads: 2, headWidth: 6 },
  { heads: 3, headWidth: 4 },
];

describe('attention', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each(HEADS)('and its gradient agree with their twins at %o', async (size) => {
    const d = size.heads * size.headWidth;
    for (const tiling of [true, false].map(kernels.attentionTilingFor))
      for (const n of COUNTS) {
        const rng = caseRng('attention', n, d);
        const { starts, ends } = ragged(rng, n);
        const [qkv, dOut] = [reals(rng, n * 3 * d), reals(rng, n * d)];
        const dims = { uniform: [n, 0, 0, 0] };
        const [o, lse] = [new Float64Array(n * d), new Float64Array(n * size.heads)];
        twin.attention(qkv, starts, o, lse, { n, ...size });
        const forward = await runKernel(
          device,
          kernels.attention(size, tiling, 'n'),
          [dims, qkv, starts, poison(n * d), poison(n * size.heads)],
          { n },
        );
        expect(relativeError(forward[3]!, o)).toBeLessThan(FORWARD);
        expect(relativeError(forward[4]!, lse)).toBeLessThan(FORWARD);
        const toQueries = await runKernel(
          device,
          kernels.attentionBackwardQ(size, tiling, 'n'),
          [dims, qkv, starts, forward[3]!, forward[4]!, dOut, poison(n * 3 * d), poison(n * size.heads)],
          { n },
        );
        const toKeys = await runKernel(
          device,
          kernels.attentionBackwardKv(size, tiling, 'n'),
          [dims, qkv, ends, forward[4]!, toQueries[7]!, dOut, toQueries[6]!],
          { n },
        );
        const expected = new Float64Array(n * 3 * d);
        twin.attentionBackward(qkv, starts, o, lse, dOut, expected, { n, ...size });
        expect(relativeError(toKeys[6]!, expected)).toBeLessThan(GRADIENT);
      }
  });

  it.each(HEADS)('over a cache agrees with its twin, whatever the order of rows, at %o', async (size) => {
    const d = size.heads * size.headWidth;
    const [rollouts, context] = [7, 40];
    for (const n of COUNTS) {
      const rng = caseRng('cached', n, d);
      // Distinct places, as the sampler gives them: no two rows write one cell of the cache.
      const places = rng.sample([...Array(rollouts * context).keys()], n);
      const owner = Uint32Array.from(places, (p) => Math.floor(p / context));
      const positions = Uint32Array.from(places, (p) => p % context);
      const qkv = reals(rng, n * 3 * d);
      const [keys, values] = [reals(rng, rollouts * context * d), reals(rng, rollouts * context * d)];
      const half = size.headWidth / 2;
      const turns = new Float32Array(context * size.headWidth);
      for (let p = 0; p < context; p++)
        for (let i = 0; i < half; i++) {
          const angle = p * 10000 ** ((-2 * i) / size.headWidth);
          turns.set([Math.cos(angle), Math.sin(angle)], (p * half + i) * 2);
        }
      const dims = { uniform: [n, 0, 0, 0] };
      const stored = await runKernel(
        device,
        kernels.rotaryIntoCache(size, context, 'n'),
        [dims, positions, turns, qkv, owner, keys, values],
        { n },
      );
      const turned = Float64Array.from(qkv);
      const caches = { keys: Float64Array.from(keys), values: Float64Array.from(values) };
      const full = { n, ...size, context };
      rotary(turned, positions, full);
      storeKeyValue(turned, owner, positions, caches.keys, caches.values, full);
      expect(relativeError(stored[5]!, caches.keys)).toBeLessThan(FORWARD);
      expect(relativeError(stored[6]!, caches.values)).toBe(0);
      const out = await runKernel(
        device,
        kernels.cachedAttention(size, context, 'n'),
        [dims, stored[3]!, owner, positions, stored[5]!, stored[6]!, poison(n * d)],
        { n },
      );
      const o = new Float64Array(n * d);
      decodeAttention(turned, owner, positions, caches.keys, caches.values, o, full);
      expect(relativeError(out[6]!, o)).toBeLessThan(FORWARD);
    }
  });
});
