const LOG2_E: f32 = <f32>Math.LOG2E;
/** ln 2 in two parts; the first has few bits, so that n·LN2_HIGH is exact. */
const LN2_HIGH: f32 = 0.693359375;
const LN2_LOW: f32 = -2.1219444005469057e-4;
/** Between these e^x is a normal float32. */
const LOWEST: f32 = -87.33;
const HIGHEST: f32 = 88.0;
/** 1.5·2²³: a float32 of this size has whole steps, so adding it rounds, and the low bits hold the whole number. */
const ROUNDER: f32 = 12582912.0;

/**
 * e^x of four lanes to a relative error of 2e-7; x outside [−87.33, 88] is taken to the end of that interval, NaN stays NaN.
 * e^x = 2^n·e^r with n = round(x / ln 2), |r| ≤ ln 2 / 2, and the Taylor series of e^r to r⁷ (its rest is below 6e-9).
 */
export function exp4(x: v128): v128 {
  // pmax and pmin keep their first operand where the comparison with NaN fails.
  x = f32x4.pmin(f32x4.pmax(x, f32x4.splat(LOWEST)), f32x4.splat(HIGHEST));
  const rounded = f32x4.add(f32x4.mul(x, f32x4.splat(LOG2_E)), f32x4.splat(ROUNDER));
  const n = f32x4.sub(rounded, f32x4.splat(ROUNDER));
  let r = f32x4.sub(x, f32x4.mul(n, f32x4.splat(LN2_HIGH)));
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(LN2_LOW)));
  let p = f32x4.add(f32x4.mul(r, f32x4.splat(1.0 / 5040.0)), f32x4.splat(1.0 / 720.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 120.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 24.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 6.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.5));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  // The low bits of `rounded` are n: moved to the exponent's place and raised by its bias of 127, they are 2^n.
  const power = i32x4.add(i32x4.shl(rounded, 23), i32x4.splat(0x3f800000));
  return f32x4.mul(p, power);
}

/**
 * Natural logarithm of a normal number > 0, in float64 to about 1e-15; NaN and +∞ stay.
 * log(m·2^e) = e·ln 2 + 2·(s + s³/3 + s⁵/5 + …) with s = (m − 1)/(m + 1), m in [1/√2, √2), so s² < 0.0295.
 */
export function log(x: f64): f64 {
  if (!(x < Infinity)) return x;
  const bits = reinterpret<i64>(x);
  let e: i64 = (bits >> 52) - 1023;
  let m = reinterpret<f64>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m >= Math.SQRT2) {
    m *= 0.5;
    e++;
  }
  const s = (m - 1) / (m + 1);
  const q = s * s;
  let sum: f64 = 0;
  for (let k: i32 = 19; k >= 1; k -= 2) sum = sum * q + 1.0 / <f64>k;
  return <f64>e * Math.LN2 + 2 * s * sum;
}

/** The sum of four lanes, in one order. */
export function sum4(x: v128): f32 {
  const pairs = f32x4.add(x, v128.shuffle<f32>(x, x, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

/** The largest of four lanes; NaN where one is. */
export function max4(x: v128): f32 {
  const pairs = f32x4.max(x, v128.shuffle<f32>(x, x, 2, 3, 0, 1));
  return max(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}
