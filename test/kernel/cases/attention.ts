import type { Rng } from '../../../src/base/rng.ts';
import * as twin from '../../../src/policy/twin/attention.ts';
import { decodeAttention, storeKeyValue } from '../../../src/policy/twin/decode.ts';
import { rotary } from '../../../src/policy/twin/rotary.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { drawUntil, poison, ragged, range, reals, rms } from '../numbers.ts';
import { BRIEF, COUNTS, EXACT, FORWARD, GRADIENT, type KernelCase } from './case.ts';

/** Heads as vec4s, as vec2s (a width that is no multiple of 4), and a single head. */
const HEADS = [
  { heads: 4, headWidth: 16 },
  { heads: 2, headWidth: 6 },
  { heads: 3, headWidth: 4 },
  { heads: 1, headWidth: 2 },
];
const rows = { counts: COUNTS, brief: BRIEF };
const named = ({ heads, headWidth }: kernels.HeadSize): string => `${heads} heads of width ${headWidth}`;

const packed = (size: kernels.HeadSize, tiling: kernels.AttentionTiling): KernelCase => ({
  name: `attention and its gradient, ${named(size)}, ${tiling.block} rows a thread`,
  proves: ['attention', 'attention_backward_q', 'attention_backward_kv'],
  ...rows,
  async run(bench, n, rng) {
    const d = size.heads * size.headWidth;
    const { starts, ends, qkv, dOut, o, lse } = drawUntil(
      rng,
      () => drawPacked(rng, n, size),
      (drawn) => n === 0 || rms(drawn.lse) > 0.1,
    );
    const dims = { uniform: [n, 0, 0, 0] };
    const expected = new Float64Array(n * 3 * d);
    twin.attentionBackward(qkv, starts, o, lse, dOut, expected, { n, ...size });
    const delta = range(n * size.heads).map((i) => {
      const from = i * size.headWidth;
      return range(size.headWidth).reduce((sum, c) => sum + dOut[from + c]! * o[from + c]!, 0);
    });
    const forward = await bench.run(
      kernels.attention(size, tiling, 'n'),
      [dims, qkv, starts, poison(n * d), poison(n * size.heads)],
      { n },
    );
    const toQueries = await bench.run(
      kernels.attentionBackwardQ(size, tiling, 'n'),
      [dims, qkv, starts, forward[3]!, forward[4]!, dOut, poison(n * 3 * d), poison(n * size.heads)],
      { n },
    );
    const toKeys = await bench.run(
      kernels.attentionBackwardKv(size, tiling, 'n'),
      [dims, qkv, ends, forward[4]!, toQueries[7]!, dOut, toQueries[6]!],
      { n },
    );
    return [
      { name: 'o', out: forward[3]!, reference: o, bound: FORWARD },
      { name: 'lse', out: forward[4]!, reference: lse, bound: FORWARD },
      { name: 'delta', out: toQueries[7]!, reference: delta, bound: GRADIENT },
      { name: 'dqkv', out: toKeys[6]!, reference: expected, bound: GRADIENT },
    ];
  },
});

function drawPacked(rng: Rng, n: number, size: kernels.HeadSize) {
  const d = size.heads * size.headWidth;
  const { starts, ends } = ragged(rng, n);
  const [qkv, dOut] = [reals(rng, n * 3 * d), reals(rng, n * d)];
  const [o, lse] = [new Float64Array(n * d), new Float64Array(n * size.heads)];
  twin.attention(qkv, starts, o, lse, { n, ...size });
  return { starts, ends, qkv, dOut, o, lse };
}

/** (cos, sin) of every position and pair [context, Dh/2, 2], as `createTurns` puts them on the device. */
function turnsOf(context: number, headWidth: number): Float32Array {
  const half = headWidth / 2;
  return Float32Array.from(
    range(context * half).flatMap((i) => {
      const angle = Math.floor(i / half) * 10000 ** ((-2 * (i % half)) / headWidth);
      return [Math.cos(angle), Math.sin(angle)];
    }),
  );
}

const turned = (size: kernels.HeadSize, direction: 1 | -1): KernelCase => ({
  name: `rotary ${direction > 0 ? 'forward' : 'backward'}, ${named(size)}`,
  proves: ['rotary'],
  ...rows,
  async run(bench, n, rng) {
    const context = 4096;
    const width = size.heads * size.headWidth;
    // Far positions too, where an angle computed in float32 would be coarse.
    const near = ragged(rng, n).positions;
    const positions = near.map((p, i) => (i % 2 === 0 ? context - 1 - p : p));
    const qkv = reals(rng, n * 3 * width);
    const out = await bench.run(
      kernels.rotary(size, 'n', direction),
      [{ uniform: [n, 0, 0, 0] }, positions, turnsOf(context, size.headWidth), qkv],
      { n },
    );
    const expected = Float64Array.from(qkv);
    rotary(expected, positions, { n, ...size }, direction);
    return [{ name: 'qkv', out: out[3]!, reference: expected, bound: FORWARD }];
  },
});

/** `scale`: the size of queries and keys. At 8 a sum overflows unless the largest score of all parts is taken off. */
const cached = (size: kernels.HeadSize, tiling: kernels.CacheTiling, scale = 1): KernelCase => ({
  name: `attention over a cache, ${named(size)}, ${tiling.parts} of ${tiling.workgroup} threads a head, scale ${scale}`,
  proves: ['rotary', 'cached_attention'],
  // Scores of some hundreds have few digits behind the point, which only shows where there are few rows.
  counts: scale === 1 ? COUNTS : [65, 200],
  brief: scale === 1 ? BRIEF : [65],
  async run(bench, n, rng) {
    const d = size.heads * size.headWidth;
    const [rollouts, context] = [7, 40];
    const full = { n, ...size, context };
    // Distinct places in any order, as the sampler gives them: no two rows write one cell of the cache.
    const places = rng.sample(range(rollouts * context), n);
    const owner = Uint32Array.from(places, (p) => Math.floor(p / context));
    const positions = Uint32Array.from(places, (p) => p % context);
    const qkv = reals(rng, n * 3 * d, scale);
    const [keys, values] = [reals(rng, rollouts * context * d, scale), reals(rng, rollouts * context * d)];
    const expected = Float64Array.from(qkv);
    const caches = { keys: Float64Array.from(keys), values: Float64Array.from(values) };
    rotary(expected, positions, full);
    storeKeyValue(expected, owner, positions, caches.keys, caches.values, full);
    const o = new Float64Array(n * d);
    decodeAttention(expected, owner, positions, caches.keys, caches.values, o, full);
    // The kernel turns q in place and puts k and v into the cache; in qkv they stay as they came.
    for (let i = 0; i < expected.length; i++) if (i % (3 * d) >= d) expected[i] = qkv[i]!;

    const dims = { uniform: [n, 0, 0, 0] };
    const turns = turnsOf(context, size.headWidth);
    const stored = await bench.run(
      kernels.rotaryIntoCache(size, context, 'n'),
      [dims, positions, turns, qkv, owner, keys, values],
      { n },
    );
    const out = await bench.run(
      kernels.cachedAttention(size, context, tiling, 'n'),
      [dims, stored[3]!, owner, positions, stored[5]!, stored[6]!, poison(n * d)],
      { n },
    );
    return [
      { name: 'qkv', out: stored[3]!, reference: expected, bound: FORWARD },
      { name: 'keys', out: stored[5]!, reference: caches.keys, bound: FORWARD },
      { name: 'values', out: stored[6]!, reference: caches.values, bound: EXACT },
      { name: 'o', out: out[6]!, reference: o, bound: FORWARD },
    ];
  },
});

const TILINGS = [true, false].map(kernels.attentionTilingFor);

export const attentionCases: readonly KernelCase[] = [
  ...HEADS.flatMap((size) => TILINGS.map((tiling) => packed(size, tiling))),
  ...HEADS.flatMap((size) => [
    turned(size, 1),
    turned(size, -1),
    ...[true, false].map((software) => cached(size, kernels.cacheTilingFor(software, size))),
  ]),
  // A small workgroup, which a software device compiles and runs sooner: mutants meet it first.
  cached({ heads: 2, headWidth: 2 }, { parts: 2, workgroup: 8 }),
  cached({ heads: 2, headWidth: 2 }, { parts: 2, workgroup: 8 }, 8),
  // Heads so wide that the threads take several rounds to put the parts together.
  cached({ heads: 1, headWidth: 16 }, { parts: 2, workgroup: 8 }),
];
