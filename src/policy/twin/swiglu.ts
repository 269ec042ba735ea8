import type { Reals } from './arrays.ts';

/** N rows; F units, each of a gate and an up. */
export interface GateSize {
  n: number;
  f: number;
}

/**
 * y = silu(gate)·up with silu(x) = x·σ(x). x [N, 2F], the F gates of a row before its F ups → y [N, F].
 * Source: Shazeer 2020, "GLU Variants Improve Transformer", equation 5 with β = 1.
 */
export function swiglu(x: Reals, y: Float64Array, { n, f }: GateSize): void {
  for (let row = 0; row < n; row++)
    for (let i = 0, at = row * 2 * f; i < f; i++, at++) {
      const gate = x[at]!;
      y[row * f + i] = (gate / (1 + Math.exp(-gate))) * x[at + f]!;
    }
}

/**
 * Gradient of `swiglu`: with s = σ(gate), dgate = dy·up·s·(1 + gate·(1 − s)) and dup = dy·gate·s.
 * x [N, 2F], dy [N, F] → dx [N, 2F]; dx may be the same array as x.
 */
export function swigluBackward(x: Reals, dy: Reals, dx: Float64Array, { n, f }: GateSize): void {
  for (let row = 0; row < n; row++)
    for (let i = 0, at = row * 2 * f; i < f; i++, at++) {
      const gate = x[at]!;
      const up = x[at + f]!;
      const d = dy[row * f + i]!;
      const s = 1 / (1 + Math.exp(-gate));
      dx[at] = d * up * s * (1 + gate * (1 - s));
      dx[at + f] = d * gate * s;
    }
}
