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
 * Wilson score interval of a binomial proportion at 95% (Wilson 1927; Brown, Cai and DasGupta 2001, eq. 4).
 * For n = 0 nothing is known: mean NaN, interval [0, 1].
 */
export function wilson(successes: number, n: number): Rate {
  if (n === 0) return { mean: Number.NaN, low: 0, high: 1, n };
  const p = successes / n;
  const spread = 1 + (Z * Z) / n;
  const centre = (p + (Z * Z) / (2 * n)) / spread;
  const half = (Z * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n))) / spread;
  return { mean: p, low: Math.max(0, centre - half), high: Math.min(1, centre + half), n };
}
