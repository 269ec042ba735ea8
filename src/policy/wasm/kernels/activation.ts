import { exp4 } from './exp';

/** 2·√(2/π), and the same times 0.044715 and times 3·0.044715. */
const SLOPE: f32 = 1.5957691216057308;
const CUBIC: f32 = 0.07135481627159025;
const CUBIC3: f32 = 0.21406444881477074;

/**
 * y = x·σ(2u), u = √(2/π)·(x + 0.044715x³): GELU in its tanh form. x, y of `count` entries.
 * Source: Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", section 2.
 */
export function gelu(x: usize, y: usize, count: i32): void {
  const end = x + <usize>(count & ~3) * 4;
  while (x < end) {
    v128.store(y, gelu4(v128.load(x)));
    x += 16;
    y += 16;
  }
  for (let i: i32 = 0; i < (count & 3); i++) {
    const at = <usize>i * 4;
    store<f32>(y + at, f32x4.extract_lane(gelu4(v128.load32_splat(x + at)), 0));
  }
}

/** dx = dy·(s + x·s·(1 − s)·2u′), s = σ(2u). x, dy, dx of `count` entries; dx may be dy. */
export function geluBackward(x: usize, dy: usize, dx: usize, count: i32): void {
  const end = x + <usize>(count & ~3) * 4;
  while (x < end) {
    v128.store(dx, geluSlope4(v128.load(x), v128.load(dy)));
    x += 16;
    dy += 16;
    dx += 16;
  }
  for (let i: i32 = 0; i < (count & 3); i++) {
    const at = <usize>i * 4;
    const slope = geluSlope4(v128.load32_splat(x + at), v128.load32_splat(dy + at));
    store<f32>(dx + at, f32x4.extract_lane(slope, 0));
  }
}

/**
 * y = silu(gate)·up, silu(g) = g·σ(g), row by row: gateUp [N, 2F] (gate first) → y [N, F].
 * Source: Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
 */
export function swiglu(gateUp: usize, y: usize, n: i32, hidden: i32): void {
  const row = <usize>hidden * 4;
  for (let i: i32 = 0; i < n; i++) {
    let f: usize = 0;
    for (; f + 16 <= row; f += 16)
      v128.store(y + f, swiglu4(v128.load(gateUp + f), v128.load(gateUp + row + f)));
    for (; f < row; f += 4) {
      const value = swiglu4(v128.load32_splat(gateUp + f), v128.load32_splat(gateUp + row + f));
      store<f32>(y + f, f32x4.extract_lane(value, 0));
    }
    gateUp += 2 * row;
    y += row;
  }
}

/** With s = σ(g): dGate = dy·up·s·(1 + g·(1 − s)), dUp = dy·g·s. gateUp [N, 2F], dy [N, F] → dGateUp [N, 2F]. */
export function swigluBackward(gateUp: usize, dy: usize, dGateUp: usize, n: i32, hidden: i32): void {
  const row = <usize>hidden * 4;
  for (let i: i32 = 0; i < n; i++) {
    let f: usize = 0;
    for (; f + 16 <= row; f += 16) {
      const g = v128.load(gateUp + f);
      const d = v128.load(dy + f);
      const s = sigmoid4(g);
      v128.store(dGateUp + f, gateSlope4(g, s, v128.load(gateUp + row + f), d));
      v128.store(dGateUp + row + f, f32x4.mul(d, f32x4.mul(g, s)));
    }
    for (; f < row; f += 4) {
      const g = v128.load32_splat(gateUp + f);
      const d = v128.load32_splat(dy + f);
      const s = sigmoid4(g);
      const slope = gateSlope4(g, s, v128.load32_splat(gateUp + row + f), d);
      store<f32>(dGateUp + f, f32x4.extract_lane(slope, 0));
      store<f32>(dGateUp + row + f, f32x4.extract_lane(f32x4.mul(d, f32x4.mul(g, s)), 0));
    }
    gateUp += 2 * row;
    dy += row;
    dGateUp += 2 * row;
  }
}

function sigmoid4(x: v128): v128 {
  const one = f32x4.splat(1);
  return f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(x))));
}

/** σ(2u). */
function geluGate4(x: v128, square: v128): v128 {
  const twice = f32x4.add(f32x4.splat(SLOPE), f32x4.mul(f32x4.splat(CUBIC), square));
  return sigmoid4(f32x4.mul(x, twice));
}

function gelu4(x: v128): v128 {
  return f32x4.mul(x, geluGate4(x, f32x4.mul(x, x)));
}

function geluSlope4(x: v128, dy: v128): v128 {
  const square = f32x4.mul(x, x);
  const s = geluGate4(x, square);
  const inner = f32x4.add(f32x4.splat(SLOPE), f32x4.mul(f32x4.splat(CUBIC3), square));
  const bend = f32x4.mul(f32x4.mul(x, f32x4.sub(f32x4.splat(1), s)), inner);
  return f32x4.mul(dy, f32x4.mul(s, f32x4.add(f32x4.splat(1), bend)));
}

function swiglu4(g: v128, up: v128): v128 {
  return f32x4.mul(f32x4.mul(g, sigmoid4(g)), up);
}

function gateSlope4(g: v128, s: v128, up: v128, dy: v128): v128 {
  const one = f32x4.splat(1);
  const bend = f32x4.add(one, f32x4.mul(g, f32x4.sub(one, s)));
  return f32x4.mul(f32x4.mul(dy, up), f32x4.mul(s, bend));
}
