import type { Ids, Reals } from './arrays.ts';
import { matmulNn, matmulNt, matmulTn } from './matmul.ts';

/** N rows of width D, V tokens. */
export interface CrossEntropySize {
  n: number;
  d: number;
  v: number;
  /** Σ w that weights are divided by, where these rows are part of a larger whole; their own where nothing is said. */
  total?: number;
}

/** Rows whose logits are held at a time. */
const BLOCK = 64;

/**
 * Cross-entropy fused with the output projection: with logits z_n = hidden_n · Eᵀ, lse_n = log Σ_v exp(z_nv) and
 * nll_n = lse_n − z_n[targets[n]], in nats. Rows of weight 0 are skipped: both outputs 0.
 * hidden [N, D], embed [V, D], targets [N], weights [N] → nll [N], lse [N].
 * @returns the loss Σ w·nll / Σ w.
 */
export function crossEntropy(
  hidden: Reals,
  embed: Reals,
  targets: Ids,
  weights: Reals,
  nll: Float64Array,
  lse: Float64Array,
  size: CrossEntropySize,
): number {
  const { v } = size;
  let loss = 0;
  let total = 0;
  nll.fill(0, 0, size.n);
  lse.fill(0, 0, size.n);
  forBlocks(hidden, embed, weights, size, ({ logits, rows, count }) => {
    for (let i = 0; i < count; i++) {
      const row = rows[i]!;
      const norm = logSumExp(logits, i * v, v);
      lse[row] = norm;
      nll[row] = norm - logits[i * v + targets[row]!]!;
      loss += weights[row]! * nll[row]!;
      total += weights[row]!;
    }
  });
  return loss / (size.total ?? total);
}

/**
 * Gradient of the loss of `crossEntropy`, its logits computed again. With
 * dz_nv = w_n / Σ w · (exp(z_nv − lse_n) − [v = targets[n]]): dHidden_n = dz_n · E; dE += Σ_n dz_nᵀ · hidden_n.
 * lse [N] comes from `crossEntropy` → dHidden [N, D] (written, 0 where the weight is 0), dEmbed [V, D] (added to).
 */
export function crossEntropyBackward(
  hidden: Reals,
  embed: Reals,
  targets: Ids,
  weights: Reals,
  lse: Reals,
  dHidden: Float64Array,
  dEmbed: Float64Array,
  size: CrossEntropySize,
): void {
  const { n, d, v } = size;
  let own = 0;
  for (let row = 0; row < n; row++) own += weights[row]!;
  const total = size.total ?? own;
  dHidden.fill(0, 0, n * d);
  const dBlock = new Float64Array(BLOCK * d);
  forBlocks(hidden, embed, weights, size, ({ logits, inputs, rows, count }) => {
    for (let i = 0; i < count; i++) {
      const row = rows[i]!;
      const share = weights[row]! / total;
      for (let id = 0; id < v; id++) logits[i * v + id] = share * Math.exp(logits[i * v + id]! - lse[row]!);
      const target = i * v + targets[row]!;
      logits[target] = logits[target]! - share;
    }
    matmulNn(logits, embed, dBlock, { n: count, m: v, k: d });
    matmulTn(logits, inputs, dEmbed, { n: count, m: v, k: d }, true);
    for (let i = 0; i < count; i++)
      for (let j = 0; j < d; j++) dHidden[rows[i]! * d + j] = dBlock[i * d + j]!;
  });
}

/** Logits of up to `BLOCK` trained rows: `logits` [count, V] and `inputs` [count, D] of the positions `rows`. */
interface Block {
  logits: Float64Array;
  inputs: Float64Array;
  rows: Int32Array;
  count: number;
}

/** Visits the rows of weight > 0 in order, a block at a time. The block's arrays are used again. */
function forBlocks(
  hidden: Reals,
  embed: Reals,
  weights: Reals,
  size: CrossEntropySize,
  visit: (block: Block) => void,
): void {
  const { n, d, v } = size;
  const block: Block = {
    logits: new Float64Array(BLOCK * v),
    inputs: new Float64Array(BLOCK * d),
    rows: new Int32Array(BLOCK),
    count: 0,
  };
  const flush = () => {
    matmulNt(block.inputs, embed, block.logits, { n: block.count, m: v, k: d });
    visit(block);
    block.count = 0;
  };
  for (let row = 0; row < n; row++) {
    if (weights[row] === 0) continue;
    const to = block.count * d;
    for (let j = 0; j < d; j++) block.inputs[to + j] = hidden[row * d + j]!;
    block.rows[block.count++] = row;
    if (block.count === BLOCK) flush();
  }
  if (block.count > 0) flush();
}

/** log Σ exp over v entries from `at`, shifted by the largest. */
function logSumExp(values: Reals, at: number, v: number): number {
  let top = -Infinity;
  for (let i = 0; i < v; i++) top = Math.max(top, values[at + i]!);
  let sum = 0;
  for (let i = 0; i < v; i++) sum += Math.exp(values[at + i]! - top);
  return top + Math.log(sum);
}
