import { exp4, max4, sum4 } from './exp';

/** Far below every logit, yet finite: e^(this − top) counts as nothing. */
const NOTHING: f32 = -3e38;

/** Fills entries count … (count rounded up to 4) − 1 of a row with a number that counts as nothing in a softmax. */
export function padRow(row: usize, count: i32): void {
  for (let i = count; i & 3; i++) store<f32>(row + <usize>i * 4, NOTHING);
}

/** The largest of a padded row of `count` ≥ 1 entries; NaN where one is. */
export function topOf(row: usize, count: i32): f32 {
  let top = v128.load(row);
  const end = row + <usize>count * 4;
  for (let at = row + 16; at < end; at += 16) top = f32x4.max(top, v128.load(at));
  return max4(top);
}

/** x ← e^(scale·x − shift) for a padded row of `count` entries; returns the sum. */
export function exponentials(row: usize, count: i32, scale: f32, shift: f32): f32 {
  let sum = f32x4.splat(0);
  const end = row + <usize>count * 4;
  for (; row < end; row += 16) {
    const power = f32x4.sub(f32x4.mul(v128.load(row), f32x4.splat(scale)), f32x4.splat(shift));
    const value = exp4(power);
    sum = f32x4.add(sum, value);
    v128.store(row, value);
  }
  return sum4(sum);
}

/** x ← factor·x for a padded row of `count` entries. */
export function scaleRow(row: usize, count: i32, factor: f32): void {
  const end = row + <usize>count * 4;
  for (; row < end; row += 16) v128.store(row, f32x4.mul(v128.load(row), f32x4.splat(factor)));
}
