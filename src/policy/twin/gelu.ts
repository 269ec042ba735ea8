import type { Reals } from './arrays.ts';

const SLOPE = Math.sqrt(2 / Math.PI);
const CUBIC = 0.044715;

/**
 * y = x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))), written as x·σ(2u), which is the same and needs one exponential.
 * x, y of `count` entries. Source: Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", section 2.
 */
export function gelu(x: Reals, y: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) {
    const v = x[i]!;
    y[i] = v / (1 + Math.exp(-2 * SLOPE * (v + CUBIC * v * v * v)));
  }
}

/**
 * dx = dy · (s + x·s·(1 − s)·2√(2/π)·(1 + 3·0.044715x²)) with s = σ(2u) as in `gelu`.
 * x, dy, dx of `count` entries; dx may be the same array as dy.
 */
export function geluBackward(x: Reals, dy: Reals, dx: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) {
    const v = x[i]!;
    const s = 1 / (1 + Math.exp(-2 * SLOPE * (v + CUBIC * v * v * v)));
    dx[i] = dy[i]! * (s + v * s * (1 - s) * 2 * SLOPE * (1 + 3 * CUBIC * v * v));
  }
}
