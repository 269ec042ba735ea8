import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import type { StepOptions } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { attention } from '../../../src/policy/twin/attention.ts';
import { crossEntropy } from '../../../src/policy/twin/crossEntropy.ts';
import { decodeAttention, storeKeyValue } from '../../../src/policy/twin/decode.ts';
import { gelu } from '../../../src/policy/twin/gelu.ts';
import { matmulNn, matmulNt, matmulTn } from '../../../src/policy/twin/matmul.ts';
import { rmsNorm } from '../../../src/policy/twin/norm.ts';
import { adamw, gradNorm } from '../../../src/policy/twin/optimiser.ts';
import { rotary } from '../../../src/policy/twin/rotary.ts';
import { poisoned, raggedBatch, randomReals } from './differences.ts';

/** Entries agree within `limit`; a NaN on either side fails. */
const close = (actual: ArrayLike<number>, wanted: ArrayLike<number>, limit = 1e-12) => {
  expect(actual.length).toBe(wanted.length);
  const bad = Array.from(wanted).findIndex((w, i) => !(Math.abs((actual[i] as number) - w) <= limit));
  expect(bad < 0 ? 'equal' : `entry ${bad}: ${actual[bad]} for ${wanted[bad]}`).toBe('equal');
};
const at = (x: ArrayLike<number>, i: number) => x[i] as number;

describe('products', () => {
  // Sizes on both sides of the tile (4), the strip (128 terms) and the column block (256).
  const size = fc.record({
    n: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(127, 128, 131)),
    m: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(255, 256, 261)),
    k: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(64, 130)),
    accumulate: fc.boolean(),
    seed: fc.integer(),
  });
  const triple = (
    rows: number,
    columns: number,
    depth: number,
    term: (i: number, j: number, r: number) => number,
  ) => {
    const c = new Float64Array(rows * columns);
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++)
        for (let r = 0; r < depth; r++) c[i * columns + j] = at(c, i * columns + j) + term(i, j, r);
    return c;
  };

  it('equal the plain triple loop at any size', () => {
    fc.assert(
      fc.property(size, ({ n, m, k, accumulate, seed }) => {
        const rng = new Rng(seed);
        const x = randomReals(rng, n * k);
        const w = randomReals(rng, m * k);
        const dy = randomReals(rng, n * m);
        const check = (run: (c: Float64Array) => void, wanted: Float64Array) => {
          const before = randomReals(rng, wanted.length);
          const c = accumulate ? before.slice() : poisoned(wanted.length);
          run(c);
          close(c, accumulate ? wanted.map((v, i) => v + at(before, i)) : wanted, 1e-10);
        };
        const sizes = { n, m, k };
        check(
          (c) => matmulNt(x, w, c, sizes, accumulate),
          triple(n, m, k, (i, j, r) => at(x, i * k + r) * at(w, j * k + r)),
        );
        check(
          (c) => matmulNn(dy, w, c, sizes, accumulate),
          triple(n, k, m, (i, j, r) => at(dy, i * m + r) * at(w, r * k + j)),
        );
        check(
          (c) => matmulTn(dy, x, c, sizes, accumulate),
          triple(m, k, n, (i, j, r) => at(dy, r * m + i) * at(x, r * k + j)),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('leave entries past the result alone', () => {
    const c = new Float64Array(20).fill(7);
    matmulNt(new Float64Array(6).fill(1), new Float64Array(10).fill(1), c, { n: 3, m: 5, k: 2 });
    expect([...c]).toEqual([...new Array(15).fill(2), ...new Array(5).fill(7)]);
  });
});

describe('element-wise kernels', () => {
  it('rmsNorm gives rows of mean square 1 times the gain, and 0 for a row of zeros', () => {
    const y = poisoned(8);
    rmsNorm(Float64Array.of(3, -3, 3, -3, 0, 0, 0, 0), Float64Array.of(1, 2, 3, 4), y, { n: 2, d: 4 });
    const one = 3 / Math.sqrt(9 + 1e-6);
    close(y, [one, -2 * one, 3 * one, -4 * one, 0, 0, 0, 0]);
  });

  it('gelu is the tanh form', () => {
    const x = Float64Array.from({ length: 161 }, (_, i) => (i - 80) / 8);
    const y = poisoned(x.length);
    gelu(x, y, x.length);
    close(
      y,
      x.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))),
      1e-14,
    );
  });

  it('rotary makes q·k depend on the distance alone and leaves v', () => {
    const rng = new Rng(5);
    const size = { n: 2, heads: 1, headWidth: 8 };
    const row = randomReals(rng, 24);
    const score = (p: number, q: number) => {
      const both = new Float64Array(48);
      both.set(row);
      both.set(row, 24);
      rotary(both, Int32Array.of(p, q), size);
      expect([...both.slice(16, 24)]).toEqual([...row.slice(16)]);
      let sum = 0;
      for (let i = 0; i < 8; i++) sum += at(both, i) * at(both, 24 + 8 + i);
      return sum;
    };
    expect(score(7, 3)).toBeCloseTo(score(104, 100), 10);
    expect(Math.abs(score(7, 3) - score(7, 4))).toBeGreaterThan(1e-3);
    // The slowest pair of a head of width 4 turns by p·10000^(−1/2) = p/100.
    const one = new Float64Array(12);
    one[1] = 1;
    rotary(one, Int32Array.of(50), { n: 1, heads: 1, headWidth: 4 });
    close(one.slice(0, 4), [0, Math.cos(0.5), 0, Math.sin(0.5)]);
  });
});

describe('attention', () => {
  const size = { heads: 2, headWidth: 4 };
  const d = 8;

  /** The definition, one number at a time. */
  const plain = (qkv: Float64Array, starts: Int32Array, n: number) => {
    const o = new Float64Array(n * d);
    const lse = new Float64Array(n * size.heads);
    for (let row = 0; row < n; row++)
      for (let head = 0; head < size.heads; head++) {
        const scores: number[] = [];
        for (let j = at(starts, row); j <= row; j++) {
          let s = 0;
          for (let i = 0; i < 4; i++)
            s += at(qkv, row * 24 + head * 4 + i) * at(qkv, j * 24 + 8 + head * 4 + i);
          scores.push(s / 2);
        }
        const total = scores.reduce((sum, s) => sum + Math.exp(s), 0);
        lse[row * 2 + head] = Math.log(total);
        for (const [j, s] of scores.entries())
          for (let i = 0; i < 4; i++) {
            const v = at(qkv, (at(starts, row) + j) * 24 + 16 + head * 4 + i);
            const to = row * d + head * 4 + i;
            o[to] = at(o, to) + (Math.exp(s) / total) * v;
          }
      }
    return { o, lse };
  };

  it('equals its definition on ragged sequences, longer than a block of rows too', () => {
    for (const lengths of [[1], [3, 1, 5], [40, 2, 70], [32, 33, 64]]) {
      const rng = new Rng(lengths.join());
      const { starts } = raggedBatch(rng, lengths, 5);
      const n = starts.length;
      const qkv = randomReals(rng, n * 24, 1.5);
      const o = poisoned(n * d);
      const lse = poisoned(n * 2);
      attention(qkv, starts, o, lse, { n, ...size });
      const wanted = plain(qkv, starts, n);
      close(o, wanted.o);
      close(lse, wanted.lse);
    }
  });

  it('over a cache equals attention over the sequence, whatever else the cache holds', () => {
    const rng = new Rng(9);
    const lengths = [5, 3, 7];
    const context = 8;
    const { starts, positions } = raggedBatch(rng, lengths, 5);
    const n = starts.length;
    const rollouts = Int32Array.from(lengths.flatMap((length, r) => new Array<number>(length).fill(r)));
    const qkv = randomReals(rng, n * 24);
    const keys = poisoned(3 * context * d);
    const values = poisoned(3 * context * d);
    const sizes = { n, ...size, context };
    storeKeyValue(qkv, rollouts, positions, keys, values, sizes);
    const o = poisoned(n * d);
    decodeAttention(qkv, rollouts, positions, keys, values, o, sizes);
    close(o, plain(qkv, starts, n).o);
  });
});

describe('crossEntropy', () => {
  it('is log V for equal logits and skips rows of weight 0', () => {
    const nll = poisoned(3);
    const lse = poisoned(3);
    const weights = Float32Array.of(2, 0, 1);
    const targets = Int32Array.of(0, 99, 4);
    const value = crossEntropy(new Float64Array(6), new Float64Array(10), targets, weights, nll, lse, {
      n: 3,
      d: 2,
      v: 5,
    });
    expect(value).toBeCloseTo(Math.log(5), 14);
    close(nll, [Math.log(5), 0, Math.log(5)], 1e-14);
    close(lse, [Math.log(5), 0, Math.log(5)], 1e-14);
  });

  it('weighs rows, and stays finite for logits of thousands', () => {
    // Logits of row 0: (2000, 0); of row 1: (0, 2000). nll of target 0: 0 and 2000.
    const hidden = Float64Array.of(1000, 0, 0, 1000);
    const embed = Float64Array.of(2, 0, 0, 2);
    const value = crossEntropy(
      hidden,
      embed,
      Int32Array.of(0, 0),
      Float64Array.of(3, 1),
      poisoned(2),
      poisoned(2),
      {
        n: 2,
        d: 2,
        v: 2,
      },
    );
    expect(value).toBeCloseTo(500, 10);
  });
});

describe('optimiser', () => {
  const shape = { vocab: 3, width: 4, layers: 1, heads: 1, hidden: 4, context: 4 };
  const { tensors, count } = layout(shape);
  const options: StepOptions = {
    learningRate: 0.1,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weightDecay: 0.5,
    clip: 1,
  };
  const state = (value: number, gradient: number) => ({
    parameters: new Float64Array(count).fill(value),
    gradient: new Float64Array(count).fill(gradient),
    moment1: new Float64Array(count),
    moment2: new Float64Array(count),
  });

  it('takes a first step of the learning rate against the sign, decays matrices alone, leaves gaps', () => {
    const s = state(2, 0.001);
    adamw(s, tensors, { ...options, clip: Infinity }, 1, gradNorm(s.gradient));
    const inside = new Set<number>();
    for (const t of tensors)
      for (let i = t.offset; i < t.offset + t.size; i++) {
        inside.add(i);
        expect(at(s.parameters, i)).toBeCloseTo(2 - 0.1 - (t.shape.length > 1 ? 0.1 * 0.5 * 2 : 0), 5);
      }
    for (let i = 0; i < count; i++) if (!inside.has(i)) expect(at(s.parameters, i)).toBe(2);
  });

  it('clips by the global norm', () => {
    const s = state(0, 3);
    const norm = gradNorm(s.gradient);
    expect(norm).toBeCloseTo(3 * Math.sqrt(count), 10);
    adamw(s, tensors, options, 1, norm);
    expect(at(s.moment1, 0)).toBeCloseTo((0.1 * 3) / norm, 12);
    const small = state(0, 1e-4);
    adamw(small, tensors, options, 1, gradNorm(small.gradient));
    expect(at(small.moment1, 0)).toBeCloseTo(0.1 * 1e-4, 15);
  });

  it('follows the recurrence over two steps', () => {
    const s = state(1, 0.2);
    const free = { ...options, clip: Infinity, weightDecay: 0 };
    adamw(s, tensors, free, 1, 1);
    s.gradient.fill(-0.1);
    adamw(s, tensors, free, 2, 1);
    const m = 0.9 * 0.1 * 0.2 + 0.1 * -0.1;
    const v = 0.99 * 0.01 * 0.04 + 0.01 * 0.01;
    const first = 1 - 0.1 * (0.2 / (0.2 + 1e-8));
    const second = first - (0.1 * (m / (1 - 0.81))) / (Math.sqrt(v / (1 - 0.9801)) + 1e-8);
    expect(at(s.parameters, 0)).toBeCloseTo(second, 12);
  });
});
