import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import { batches } from '../../src/learn/batches.ts';
import { learningRate } from '../../src/learn/schedule.ts';

const sequence = (length: number) => ({
  tokens: new Array(length).fill(1),
  weights: new Array(length).fill(1),
});
const take = (
  n: number,
  data: ReturnType<typeof sequence>[],
  limit: { tokens: number; sequences: number },
  seed = 1,
) => {
  const source = batches(data, limit, new Rng(seed));
  return Array.from({ length: n }, () => source.next().value.indices);
};

describe('batches', () => {
  it('keeps to both limits and shows every sequence once an epoch', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 30, max: 120 }),
        fc.integer({ min: 1, max: 9 }),
        (lengths, tokens, sequences) => {
          const data = lengths.map(sequence);
          const made = take(lengths.length * 3, data, { tokens, sequences });
          for (const batch of made) {
            expect(batch.length).toBeLessThanOrEqual(sequences);
            expect(batch.reduce((sum, i) => sum + lengths[i]!, 0)).toBeLessThanOrEqual(tokens);
            expect(batch.length).toBeGreaterThan(0);
          }
          const flat = made.flat();
          for (let at = 0; at + lengths.length <= flat.length; at += lengths.length)
            expect(new Set(flat.slice(at, at + lengths.length)).size).toBe(lengths.length);
        },
      ),
    );
  });

  it('depends on the seed alone, and shuffles each epoch anew', () => {
    const data = Array.from({ length: 30 }, () => sequence(5));
    const limit = { tokens: 150, sequences: 30 };
    expect(take(4, data, limit)).toEqual(take(4, data, limit));
    expect(take(1, data, limit, 2)).not.toEqual(take(1, data, limit));
    const [first, second] = take(2, data, limit);
    expect(second).not.toEqual(first);
  });

  it('refuses no data, and a sequence that fits no batch', () => {
    expect(() => take(1, [], { tokens: 9, sequences: 1 })).toThrow(/nothing to train on/);
    expect(() => take(1, [sequence(10)], { tokens: 9, sequences: 1 })).toThrow(/10 tokens/);
  });
});

describe('learningRate', () => {
  const schedule = { peak: 0.004, steps: 100, warmup: 10, final: 0.1 };

  it('rises linearly to the peak and falls linearly to the final share', () => {
    expect(learningRate(0, schedule)).toBeCloseTo(0.0004, 12);
    expect(learningRate(9, schedule)).toBeCloseTo(0.004, 12);
    expect(learningRate(10, schedule)).toBeCloseTo(0.004, 12);
    expect(learningRate(99, schedule)).toBeCloseTo(0.0004, 12);
    const falls = Array.from(
      { length: 89 },
      (_, i) => learningRate(10 + i, schedule) - learningRate(11 + i, schedule),
    );
    for (const fall of falls) expect(fall).toBeCloseTo(0.0036 / 89, 12);
  });
});
