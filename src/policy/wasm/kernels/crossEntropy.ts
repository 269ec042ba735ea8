import { log } from './exp';
import { product } from './product';
import { exponentials, padRow, scaleRow, topOf } from './softmax';

/**
 * Cross-entropy fused with the output projection, `block` rows of logits at a time: z_n = hidden_n · Eᵀ and
 * nll_n = log Σ_v exp(z_nv) − z_n[targets[n]], in nats. With dHidden ≠ 0 also the gradient, from the same logits:
 * dz_nv = w_n · share · (softmax(z_n)_v − [v = targets[n]]); dHidden_n = dz_n · E; dE += Σ_n dz_nᵀ · hidden_n.
 * hidden [N, D], embed [V, D], targets [N], weights [N], scratch [block, V rounded up to 4] → nll [N], dHidden [N, D]
 * (written), dEmbed [V, D] (added to).
 * @param share 1 / Σ w over all that belongs to the step.
 */
export function crossEntropy(
  hidden: usize,
  embed: usize,
  targets: usize,
  weights: usize,
  scratch: usize,
  nll: usize,
  dHidden: usize,
  dEmbed: usize,
  n: i32,
  d: i32,
  v: i32,
  block: i32,
  share: f32,
): void {
  const stride = (v + 3) & ~3;
  for (let first: i32 = 0; first < n; first += block) {
    const rows = min(block, n - first);
    const inputs = hidden + <usize>first * d * 4;
    product(inputs, d, false, embed, d, false, scratch, stride, 0, rows, v, d);
    for (let i: i32 = 0; i < rows; i++) {
      const at = <usize>(first + i) * 4;
      const row = scratch + <usize>i * stride * 4;
      const target = row + <usize>load<i32>(targets + at) * 4;
      const logit = load<f32>(target);
      padRow(row, v);
      const top = topOf(row, v);
      const sum = exponentials(row, v, 1, top);
      store<f32>(nll + at, <f32>(log(sum) + (<f64>top - <f64>logit)));
      if (dHidden === 0) continue;
      const weight = load<f32>(weights + at) * share;
      scaleRow(row, v, weight / sum);
      store<f32>(target, load<f32>(target) - weight);
    }
    if (dHidden === 0) continue;
    product(scratch, stride, false, embed, d, true, dHidden + <usize>first * d * 4, d, 0, rows, d, v);
    product(scratch, stride, true, inputs, d, true, dEmbed, d, dEmbed, v, d, rows);
  }
}
