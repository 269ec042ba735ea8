import { LabError } from '../base/errors.ts';
import type { Rng } from '../base/rng.ts';

/** Fewer values than this cannot decide a claim: a resampled interval cannot reach past the values themselves. */
export const FEWEST_VALUES = 3;

/** A mean with a 95% interval. Plain data. */
export interface Interval {
  mean: number;
  low: number;
  high: number;
  /** How many values it rests on; for a difference of two groups, those of the smaller one. */
  n: number;
  /** What a reader must know, as "one value: no interval"; empty where there is nothing to say. */
  note: string;
}

/**
 * Mean with a 95% percentile bootstrap interval (Efron & Tibshirani 1993, §13.3): `resamples` resamples of the values
 * with replacement, 2.5% and 97.5% quantiles of their means. With few values the interval is too narrow (for 5 values
 * it covers about 83% of the time, not 95%; a test measures it): say how many values it rests on.
 * @throws LabError on no values or on one that is not finite.
 */
export function bootstrapMean(values: readonly number[], rng: Rng, resamples = 10_000): Interval {
  checkValues(values, 'values', resamples);
  const mean = meanOf(values);
  if (values.length === 1) return { mean, low: mean, high: mean, n: 1, note: 'one value: no interval' };
  const means = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) means[i] = resampledMean(values, rng);
  return { mean, ...percentiles(means), n: values.length, note: '' };
}

/**
 * mean(a) − mean(b) with a 95% percentile bootstrap interval. `paired` (the same seeds in the same order on both sides)
 * resamples the differences a_i − b_i; otherwise the two groups are resampled independently.
 * @throws LabError on no values, on one that is not finite, or on paired lists of different length.
 */
export function bootstrapDifference(
  a: readonly number[],
  b: readonly number[],
  rng: Rng,
  options: { paired?: boolean; resamples?: number } = {},
): Interval {
  const resamples = options.resamples ?? 10_000;
  checkValues(a, 'first group', resamples);
  checkValues(b, 'second group', resamples);
  if (options.paired) {
    if (a.length !== b.length) {
      throw new LabError(`${a.length} values cannot be paired with ${b.length}`, {
        where: 'difference',
        remedy: 'Give one value for each seed on both sides, or compare unpaired.',
      });
    }
    return bootstrapMean(
      a.map((value, i) => value - b[i]!),
      rng,
      resamples,
    );
  }
  const mean = meanOf(a) - meanOf(b);
  const n = Math.min(a.length, b.length);
  if (a.length === 1 && b.length === 1)
    return { mean, low: mean, high: mean, n, note: 'one value: no interval' };
  const differences = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) differences[i] = resampledMean(a, rng) - resampledMean(b, rng);
  return { mean, ...percentiles(differences), n, note: n === 1 ? 'one value on one side' : '' };
}

export type ClaimVerdict = 'holds' | 'fails' | 'undecided';

/**
 * What an interval of a difference says of a predicted direction: `holds` where all of it lies on the predicted side of
 * zero, `fails` where all of it lies on the other side, else `undecided`. Fewer than `FEWEST_VALUES` decide nothing.
 */
export function verdict(
  interval: { low: number; high: number; n?: number },
  direction: 'higher' | 'lower',
): ClaimVerdict {
  if (interval.n !== undefined && interval.n < FEWEST_VALUES) return 'undecided';
  const sign = direction === 'higher' ? 1 : -1;
  const [near, far] = sign > 0 ? [interval.low, interval.high] : [-interval.high, -interval.low];
  if (near > 0) return 'holds';
  return far < 0 ? 'fails' : 'undecided';
}

/** A verdict with its evidence: "holds: +0.21 [+0.12, +0.30], 5 seeds, paper +0.08". */
export function describeVerdict(
  word: ClaimVerdict,
  interval: Interval,
  options: { paper?: string; digits?: number } = {},
): string {
  const signed = (value: number) => {
    const text = Math.abs(value).toFixed(options.digits ?? 2);
    return `${value < 0 && Number(text) !== 0 ? '−' : '+'}${text}`;
  };
  const seeds = `${interval.n} ${interval.n === 1 ? 'seed' : 'seeds'}`;
  const few = interval.n < FEWEST_VALUES ? ` (fewer than ${FEWEST_VALUES} decide nothing)` : '';
  const paper = options.paper ? `, paper ${options.paper}` : '';
  return `${word}: ${signed(interval.mean)} [${signed(interval.low)}, ${signed(interval.high)}], ${seeds}${few}${paper}`;
}

function checkValues(values: readonly number[], where: string, resamples: number): void {
  if (values.length === 0) {
    throw new LabError('There are no values to average', { where, remedy: 'Run at least one seed first.' });
  }
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) {
    throw new LabError(`Value ${bad + 1} is ${values[bad]}`, {
      where,
      remedy: 'Leave out runs that gave no finite number.',
    });
  }
  if (!Number.isInteger(resamples) || resamples < 1) {
    throw new LabError(`${resamples} resamples cannot be drawn`, {
      where,
      remedy: 'Give a whole number ≥ 1.',
    });
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function resampledMean(values: readonly number[], rng: Rng): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[rng.int(values.length)]!;
  return sum / values.length;
}

function percentiles(sample: Float64Array): { low: number; high: number } {
  sample.sort();
  return { low: quantile(sample, 0.025), high: quantile(sample, 0.975) };
}

/** Linear interpolation between order statistics (Hyndman & Fan 1996, type 7). */
function quantile(sorted: Float64Array, p: number): number {
  const at = p * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (at - below);
}
