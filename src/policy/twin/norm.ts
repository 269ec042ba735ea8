import type { Reals } from './arrays.ts';

/** Added to the mean square, so that a row of zeros stays finite. */
export const NORM_EPSILON = 1e-6;

/**
 * y = x · g / √(mean(x²) + 1e-6), row by row. x [N, D], gain [D] → y [N, D].
 * Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
 */
export function rmsNorm(x: Reals, gain: Reals, y: Float64Array, size: { n: number; d: number }): void {
  const { n, d } = size;
  for (let row = 0; row < n; row++) {
    const at = row * d;
    const scale = inverseRms(x, at, d);
    for (let i = 0; i < d; i++) y[at + i] = x[at + i]! * scale * gain[i]!;
  }
}

/**
 * Gradient of `rmsNorm`. With r = 1/√(mean(x²) + 1e-6) and c = Σ_i x_i·g_i·dy_i / D:
 * dx_i = r·g_i·dy_i − r³·c·x_i; dg_i = Σ_n r·x_i·dy_i.
 * x [N, D], gain [D], dy [N, D] → dx [N, D] (written, or added to with `accumulate`), dGain [D] (added to).
 */
export function rmsNormBackward(
  x: Reals,
  gain: Reals,
  dy: Reals,
  dx: Float64Array,
  dGain: Float64Array,
  size: { n: number; d: number },
  accumulate = false,
): void {
  const { n, d } = size;
  for (let row = 0; row < n; row++) {
    const at = row * d;
    const r = inverseRms(x, at, d);
    let c = 0;
    for (let i = 0; i < d; i++) c += x[at + i]! * gain[i]! * dy[at + i]!;
    c *= (r * r * r) / d;
    for (let i = 0; i < d; i++) {
      const scaled = r * dy[at + i]!;
      const value = gain[i]! * scaled - c * x[at + i]!;
      dx[at + i] = accumulate ? dx[at + i]! + value : value;
      dGain[i] = dGain[i]! + x[at + i]! * scaled;
    }
  }
}

function inverseRms(x: Reals, at: number, d: number): number {
  let sum = 0;
  for (let i = 0; i < d; i++) sum += x[at + i]! * x[at + i]!;
  return 1 / Math.sqrt(sum / d + NORM_EPSILON);
}
