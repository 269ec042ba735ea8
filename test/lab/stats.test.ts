import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import { bootstrapDifference, bootstrapMean, describeVerdict, verdict } from '../../src/lab/stats.ts';
import { refusal } from './sample-method.ts';

/** Efron & Tibshirani 1993, table 2.1: survival of mice, days. */
const TREATED = [94, 197, 16, 38, 99, 141, 23];
const CONTROL = [52, 104, 146, 10, 51, 30, 40, 27, 46];

/** Quantiles of the mean over all n^n resamples: what the bootstrap approaches. */
function exactInterval(values: number[]): [number, number] {
  let sums = [0];
  for (let i = 0; i < values.length; i++) sums = sums.flatMap((sum) => values.map((value) => sum + value));
  const means = sums.map((sum) => sum / values.length).sort((a, b) => a - b);
  return [means[Math.round(0.025 * means.length)]!, means[Math.round(0.975 * means.length)]!];
}

describe('bootstrapMean', () => {
  it('comes close to the interval over all resamples', () => {
    for (const values of [
      [1, 2, 10, 11, 30],
      [0.2, 0.5, 0.55, 0.7, 0.9, 0.91],
    ]) {
      const [low, high] = exactInterval(values);
      const spread = Math.max(...values) - Math.min(...values);
      const found = bootstrapMean(values, new Rng(1), 40_000);
      expect(Math.abs(found.low - low)).toBeLessThan(0.02 * spread);
      expect(Math.abs(found.high - high)).toBeLessThan(0.02 * spread);
    }
  });

  it('spans two standard errors of the mice of Efron & Tibshirani', () => {
    const found = bootstrapMean(TREATED, new Rng(5));
    expect(found.mean).toBeCloseTo(86.86, 2);
    // Their ideal bootstrap standard error is 23.36 (§6.2, B = ∞); a normal interval is 2 · 1.96 of it wide.
    expect((found.high - found.low) / (2 * 1.96 * 23.36)).toBeGreaterThan(0.95);
    expect((found.high - found.low) / (2 * 1.96 * 23.36)).toBeLessThan(1.05);
  });

  it('repeats with the seed, and follows shift and scale', () => {
    const one = bootstrapMean(TREATED, new Rng(7));
    expect(bootstrapMean(TREATED, new Rng(7))).toEqual(one);
    const moved = bootstrapMean(
      TREATED.map((x) => 3 * x - 10),
      new Rng(7),
    );
    expect(moved.low).toBeCloseTo(3 * one.low - 10, 8);
    expect(moved.high).toBeCloseTo(3 * one.high - 10, 8);
  });

  it('says that one value has no interval', () => {
    expect(bootstrapMean([0.4], new Rng(1))).toEqual({
      mean: 0.4,
      low: 0.4,
      high: 0.4,
      n: 1,
      note: 'one value: no interval',
    });
  });

  it('covers the true mean less often than 95% for five normal values: about 83%', () => {
    const rng = new Rng('coverage');
    const normal = () => Math.sqrt(-2 * Math.log(1 - rng.float())) * Math.cos(2 * Math.PI * rng.float());
    let covered = 0;
    for (let i = 0; i < 2000; i++) {
      const { low, high } = bootstrapMean(
        [normal(), normal(), normal(), normal(), normal()],
        rng.fork(i),
        400,
      );
      if (low <= 0 && high >= 0) covered++;
    }
    expect(covered / 2000).toBeGreaterThan(0.8);
    expect(covered / 2000).toBeLessThan(0.87);
  });

  it.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]]])('refuses %j', async (values) => {
    expect(await refusal(() => bootstrapMean(values, new Rng(1)))).toMatch(/no values|Value \d is/);
  });
});

describe('bootstrapDifference', () => {
  it('gives the difference of the mice: 30.63 days, undecided', () => {
    const found = bootstrapDifference(TREATED, CONTROL, new Rng(3));
    expect(found.mean).toBeCloseTo(30.63, 2);
    expect(verdict(found, 'higher')).toBe('undecided');
    expect(found.n).toBe(7);
  });

  it('is tighter where pairs move together', () => {
    const a = [0.2, 0.4, 0.6, 0.8];
    const b = a.map((x) => x - 0.1);
    const paired = bootstrapDifference(a, b, new Rng(1), { paired: true });
    expect(paired.low).toBeCloseTo(0.1, 12);
    expect(paired.high).toBeCloseTo(0.1, 12);
    expect(bootstrapDifference(a, b, new Rng(1)).low).toBeLessThan(0);
  });

  it('turns round with its groups', () => {
    const found = bootstrapDifference(TREATED, CONTROL, new Rng(3), { resamples: 40_000 });
    const turned = bootstrapDifference(CONTROL, TREATED, new Rng(4), { resamples: 40_000 });
    expect(turned.low).toBeCloseTo(-found.high, -1);
    expect(turned.mean).toBeCloseTo(-found.mean, 10);
  });

  it('refuses pairs of different length and empty groups', async () => {
    expect(await refusal(() => bootstrapDifference([1, 2], [1], new Rng(1), { paired: true }))).toMatch(
      /2 values cannot be paired with 1/,
    );
    expect(await refusal(() => bootstrapDifference([1], [], new Rng(1)))).toMatch(
      /second group: There are no values/,
    );
  });
});

describe('verdict', () => {
  it.each([
    [0.1, 0.3, 5, 'higher', 'holds'],
    [0.1, 0.3, 5, 'lower', 'fails'],
    [-0.3, -0.1, 5, 'higher', 'fails'],
    [-0.3, -0.1, 5, 'lower', 'holds'],
    [-0.1, 0.3, 5, 'higher', 'undecided'],
    [0, 0.3, 5, 'higher', 'undecided'],
    [-0.3, 0, 5, 'higher', 'undecided'],
    [0.1, 0.3, 2, 'higher', 'undecided'],
    [Number.NaN, Number.NaN, 5, 'higher', 'undecided'],
  ] as const)('[%d, %d] of %i, %s: %s', (low, high, n, direction, expected) => {
    expect(verdict({ low, high, n }, direction)).toBe(expected);
  });

  it('is told with its evidence', () => {
    const interval = { mean: 0.21, low: 0.12, high: 0.3, n: 5, note: '' };
    expect(describeVerdict('holds', interval, { paper: '+0.08' })).toBe(
      'holds: +0.21 [+0.12, +0.30], 5 seeds, paper +0.08',
    );
    expect(describeVerdict('undecided', { ...interval, mean: -0.004, low: -0.5, n: 1 })).toBe(
      'undecided: +0.00 [−0.50, +0.30], 1 seed (fewer than 3 decide nothing)',
    );
  });
});
