/** 2-norm √Σ x² of `count` entries (a multiple of 4), summed in float64. */
export function norm(x: usize, count: i32): f64 {
  let low = f64x2.splat(0);
  let high = f64x2.splat(0);
  const end = x + <usize>count * 4;
  while (x < end) {
    const four = v128.load(x);
    const a = f64x2.promote_low_f32x4(four);
    const b = f64x2.promote_low_f32x4(v128.shuffle<f32>(four, four, 2, 3, 0, 1));
    low = f64x2.add(low, f64x2.mul(a, a));
    high = f64x2.add(high, f64x2.mul(b, b));
    x += 16;
  }
  const sum = f64x2.add(low, high);
  return sqrt(f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1));
}

/**
 * One AdamW step in place on `count` entries (a multiple of 4). With ĝ = scale·g:
 * m = β1·m + (1 − β1)·ĝ; v = β2·v + (1 − β2)·ĝ²; θ −= lr·(m·c1 / (√(v·c2) + ε) + λ·θ).
 * @param scale min(1, clip / norm) @param rest1 1 − β1 @param rest2 1 − β2 @param c1 1/(1 − β1^t) @param c2 1/(1 − β2^t)
 * @param decay λ, 0 on gains.
 * Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2.
 */
export function adamw(
  parameters: usize,
  gradient: usize,
  moment1: usize,
  moment2: usize,
  count: i32,
  scale: f32,
  learningRate: f32,
  beta1: f32,
  beta2: f32,
  rest1: f32,
  rest2: f32,
  c1: f32,
  c2: f32,
  epsilon: f32,
  decay: f32,
): void {
  const end = <usize>count * 4;
  for (let at: usize = 0; at < end; at += 16) {
    const g = f32x4.mul(v128.load(gradient + at), f32x4.splat(scale));
    const m = f32x4.add(
      f32x4.mul(f32x4.splat(beta1), v128.load(moment1 + at)),
      f32x4.mul(f32x4.splat(rest1), g),
    );
    const v = f32x4.add(
      f32x4.mul(f32x4.splat(beta2), v128.load(moment2 + at)),
      f32x4.mul(f32x4.mul(f32x4.splat(rest2), g), g),
    );
    v128.store(moment1 + at, m);
    v128.store(moment2 + at, v);
    const root = f32x4.add(f32x4.sqrt(f32x4.mul(v, f32x4.splat(c2))), f32x4.splat(epsilon));
    const theta = v128.load(parameters + at);
    const direction = f32x4.add(
      f32x4.div(f32x4.mul(m, f32x4.splat(c1)), root),
      f32x4.mul(f32x4.splat(decay), theta),
    );
    v128.store(parameters + at, f32x4.sub(theta, f32x4.mul(f32x4.splat(learningRate), direction)));
  }
}
