import { sum4 } from './exp';

/** Added to the mean square, so that a row of zeros stays finite. */
const EPSILON: f32 = 1e-6;

/**
 * y = x · g / √(mean(x²) + 1e-6), row by row. x [N, D], gain [D] → y [N, D]; D a multiple of 4.
 * Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
 */
export function rmsNorm(x: usize, gain: usize, y: usize, n: i32, d: i32): void {
  const row = <usize>d * 4;
  for (let i: i32 = 0; i < n; i++) {
    const r = f32x4.splat(inverseRms(x, d));
    for (let at: usize = 0; at < row; at += 16)
      v128.store(y + at, f32x4.mul(f32x4.mul(v128.load(x + at), r), v128.load(gain + at)));
    x += row;
    y += row;
  }
}

/**
 * Gradient of `rmsNorm`. With r = 1/√(mean(x²) + 1e-6) and c = r³·Σ_i x_i·g_i·dy_i / D:
 * dx_i = r·g_i·dy_i − c·x_i; dg_i += Σ_n r·x_i·dy_i.
 * x [N, D], gain [D], dy [N, D] → dx [N, D] (added to with `accumulate`, else written), dGain [D] (added to).
 */
export function rmsNormBackward(
  x: usize,
  gain: usize,
  dy: usize,
  dx: usize,
  dGain: usize,
  n: i32,
  d: i32,
  accumulate: bool,
): void {
  const row = <usize>d * 4;
  for (let i: i32 = 0; i < n; i++) {
    const inverse = inverseRms(x, d);
    let dots = f32x4.splat(0);
    for (let at: usize = 0; at < row; at += 16)
      dots = f32x4.add(
        dots,
        f32x4.mul(f32x4.mul(v128.load(x + at), v128.load(gain + at)), v128.load(dy + at)),
      );
    const r = f32x4.splat(inverse);
    const c = f32x4.splat((sum4(dots) * inverse * inverse * inverse) / <f32>d);
    for (let at: usize = 0; at < row; at += 16) {
      const here = v128.load(x + at);
      const scaled = f32x4.mul(r, v128.load(dy + at));
      let value = f32x4.sub(f32x4.mul(v128.load(gain + at), scaled), f32x4.mul(c, here));
      if (accumulate) value = f32x4.add(v128.load(dx + at), value);
      v128.store(dx + at, value);
      v128.store(dGain + at, f32x4.add(v128.load(dGain + at), f32x4.mul(here, scaled)));
    }
    x += row;
    dy += row;
    dx += row;
  }
}

function inverseRms(x: usize, d: i32): f32 {
  let squares = f32x4.splat(0);
  const end = x + <usize>d * 4;
  while (x < end) {
    const here = v128.load(x);
    squares = f32x4.add(squares, f32x4.mul(here, here));
    x += 16;
  }
  return <f32>1 / sqrt(sum4(squares) / <f32>d + EPSILON);
}
