import type { Rng } from '../../../src/base/rng.ts';

/** A Float64Array of N(0, 1)-like draws (sum of uniforms; the tests need spread, not normality). */
export function randomReals(rng: Rng, count: number, scale = 1): Float64Array {
  return Float64Array.from(
    { length: count },
    () => scale * (rng.float() + rng.float() + rng.float() - 1.5) * 2,
  );
}

/** A ragged packed batch: `lengths` sequences one after another, with about a third of the weights 0. */
export function raggedBatch(rng: Rng, lengths: readonly number[], vocab: number) {
  const n = lengths.reduce((a, b) => a + b, 0);
  const starts = new Int32Array(n);
  let start = 0;
  for (const length of lengths) {
    starts.fill(start, start, start + length);
    start += length;
  }
  const weights = Float32Array.from({ length: n }, () => (rng.chance(0.35) ? 0 : 0.25 + rng.float()));
  weights[n - 1] = 1;
  return {
    tokens: Int32Array.from({ length: n }, () => rng.int(vocab)),
    starts,
    targets: Int32Array.from({ length: n }, () => rng.int(vocab)),
    weights,
    positions: starts.map((s, i) => i - s),
  };
}

/**
 * Largest difference between `gradient` and the fourth-order central difference of `value` along every entry of `x`,
 * relative to the largest entry of the gradient. `value` reads `x`, which is put back.
 */
export function worstDifference(
  x: Float64Array,
  gradient: Float64Array,
  value: () => number,
  step = 1e-3,
): number {
  let scale = 1e-12;
  for (const g of gradient) scale = Math.max(scale, Math.abs(g));
  let worst = 0;
  for (let i = 0; i < x.length; i++) {
    const held = x[i] as number;
    const at = (offset: number) => {
      x[i] = held + offset;
      return value();
    };
    const slope = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
    x[i] = held;
    worst = Math.max(worst, Math.abs(slope - (gradient[i] as number)) / scale);
  }
  return worst;
}

/** Σ a·b: turns an output into a scalar whose gradient by the output is `b`. */
export function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);
}

/** An array that shows any entry a kernel forgets to write. */
export function poisoned(count: number): Float64Array {
  return new Float64Array(count).fill(Number.NaN);
}
