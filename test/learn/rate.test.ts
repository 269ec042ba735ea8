import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wilson } from '../../src/learn/rate.ts';

describe('wilson', () => {
  // Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('agrees with Newcombe for %i of %i', (successes, n, low, high) => {
    const rate = wilson(successes, n);
    expect(rate.mean).toBe(successes / n);
    expect(rate.low).toBeCloseTo(low, 4);
    expect(rate.high).toBeCloseTo(high, 4);
  });

  it('stays in [0, 1], holds the mean, and is symmetric', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(), (n, k) => {
        const s = k % (n + 1);
        const { low, mean, high } = wilson(s, n);
        expect(0 <= low && low <= mean && mean <= high && high <= 1).toBe(true);
        expect(wilson(n - s, n).high).toBeCloseTo(1 - low, 12);
      }),
    );
  });

  it.each([
    [1, 0],
    [-1, 5],
    [6, 5],
    [0.5, 5],
    [Number.NaN, 5],
  ])('refuses %d of %d', (s, n) => {
    expect(() => wilson(s, n)).toThrow(/is not a rate/);
  });
});
