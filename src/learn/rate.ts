import { LabError } from '../base/errors.ts';

/** A share of successes with a 95% interval. */
export interface Rate {
  mean: number;
  low: number;
  high: number;
  n: number;
}

/** 97.5% quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * Share of successes with its 95% Wilson score interval (Wilson 1927; Newcombe 1998, method 3):
 * (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).
 * @throws LabError where n is not a positive whole number or successes lie outside 0 … n.
 */
export function wilson(successes: number, n: number): Rate {
  if (!Number.isInteger(n) || n < 1 || !Number.isInteger(successes) || successes < 0 || successes > n) {
    throw new LabError(`${successes} successes of ${n} is not a rate`, {
      where: 'Wilson interval',
      remedy: 'Give whole numbers with 0 ≤ successes ≤ n and n ≥ 1.',
    });
  }
  const p = successes / n;
  const z2 = Z * Z;
  const centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  // At the ends the formula gives exactly 0 and 1, up to rounding.
  return { mean: p, low: successes === 0 ? 0 : centre - half, high: successes === n ? 1 : centre + half, n };
}
