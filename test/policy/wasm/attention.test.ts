import { beforeAll, describe, expect, it } from 'vitest';
import { attention, attentionBackward } from '../../../src/policy/twin/attention.ts';
import { decodeAttention } from '../../../src/policy/twin/decode.ts';
import { reals } from '../../kernel/numbers.ts';
import { Bench, COUNTS, caseRng, FORWARD, GRADIENT, ragged } from './bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});

const SHAPES = [
  [1, 2],
  [3, 6],
  [2, 16],
  [1, 22],
] as const;

describe('attention', () => {
  const longest = 75;
  it.each(COUNTS.flatMap((n) => SHAPES.map(([heads, headWidth]) => [n, heads, headWidth])))(
    'N %i, %i heads of %i, with its gradient',
    (n, heads, headWidth) => {
      const rng = caseRng('attention', n, heads, headWidth);
      const d = heads * headWidth;
      const [qkv, dOut] = [reals(rng, 3 * n * d, 2), reals(rng, n * d)];
      const { starts } = ragged(rng, n, longest);
      const size = { n, heads, headWidth };
      const [o, lse, dQkv] = [
        new Float64Array(n * d),
        new Float64Array(n * heads),
        new Float64Array(3 * n * d),
      ];
      attention(qkv, starts, o, lse, size);
      attentionBackward(qkv, starts, o, lse, dOut, dQkv, size);
      const at = { qkv: bench.put(qkv), starts: bench.put(starts), dOut: bench.put(dOut) };
      const out = { o: bench.room(n * d), lse: bench.room(n * heads), dQkv: bench.room(3 * n * d) };
      const scratch = bench.room(2 * 32 * (longest + 1));
      bench.kernels.attention(at.qkv, at.starts, out.o, out.lse, scratch, n, heads, headWidth);
      expect(bench.error(out.o, o)).toBeLessThan(FORWARD);
      expect(bench.error(out.lse, lse)).toBeLessThan(FORWARD);
      const { qkv: q, starts: s, dOut: g } = at;
      bench.kernels.attentionBackward(q, s, out.o, out.lse, g, scratch, out.dQkv, n, heads, headWidth);
      expect(bench.error(out.dQkv, dQkv)).toBeLessThan(GRADIENT);
    },
  );

  it('takes scores of hundreds without overflow', () => {
    const qkv = reals(caseRng('large'), 3 * 40 * 8, 60);
    const starts = new Int32Array(40);
    const size = { n: 40, heads: 1, headWidth: 8 };
    const [o, lse] = [new Float64Array(320), new Float64Array(40)];
    attention(qkv, starts, o, lse, size);
    const out = { o: bench.room(320), lse: bench.room(40) };
    const [at, where] = [bench.put(qkv), bench.put(starts)];
    bench.kernels.attention(at, where, out.o, out.lse, bench.room(32 * 40), 40, 1, 8);
    expect(bench.error(out.o, o)).toBeLessThan(1e-3);
    expect(bench.error(out.lse, lse)).toBeLessThan(FORWARD);
  });
});

describe('decodeAttention', () => {
  const context = 45;
  const rollouts = 3;
  it.each(SHAPES)('%i heads of %i, from caches filled in two runs', (heads, headWidth) => {
    const rng = caseRng('decode', heads, headWidth);
    const d = heads * headWidth;
    const wide = Math.ceil(headWidth / 4) * 4;
    const positions4 = rollouts * heads * 48;
    const cache = { keys: bench.room(positions4 * headWidth), values: bench.room(positions4 * wide) };
    const keys = new Float64Array(rollouts * context * d);
    const values = new Float64Array(rollouts * context * d);
    // Rollout 0 holds 1 token, rollout 1 holds 20 and then all 45, rollout 2 holds 7.
    const runs = [
      [1, 20, 7],
      [0, 25, 0],
    ];
    const held = [0, 0, 0];
    for (const run of runs) {
      const ids: number[] = [];
      const places: number[] = [];
      for (const [rollout, count] of run.entries())
        for (let i = 0; i < count; i++) {
          ids.push(rollout);
          places.push(held[rollout]!++);
        }
      const n = ids.length;
      const qkv = reals(rng, 3 * n * d, 2);
      const where = { rollouts: Int32Array.from(ids), positions: Int32Array.from(places) };
      for (const [row, rollout] of ids.entries()) {
        const to = (rollout * context + places[row]!) * d;
        keys.set(qkv.subarray((row * 3 + 1) * d, (row * 3 + 2) * d), to);
        values.set(qkv.subarray((row * 3 + 2) * d, (row * 3 + 3) * d), to);
      }
      const wanted = new Float64Array(n * d);
      const size = { n, heads, headWidth, context };
      decodeAttention(qkv, where.rollouts, where.positions, keys, values, wanted, size);
      const o = bench.room(n * d);
      const [at, r, p] = [bench.put(qkv), bench.put(where.rollouts), bench.put(where.positions)];
      const sizes = [n, heads, headWidth, context] as const;
      bench.kernels.storeKeyValue(at, r, p, cache.keys, cache.values, ...sizes);
      bench.kernels.decodeAttention(at, r, p, cache.keys, cache.values, bench.room(heads * 48), o, ...sizes);
      expect(bench.error(o, wanted)).toBeLessThan(FORWARD);
      bench.read(cache.keys, positions4 * headWidth);
      bench.read(cache.values, positions4 * wide);
    }
  });
});
