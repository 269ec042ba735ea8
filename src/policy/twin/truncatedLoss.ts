import type { PackedBatch, Truncation } from '../engine.ts';
import type { Reals } from './arrays.ts';
import type { CrossEntropySize } from './crossEntropy.ts';
import { matmulNt } from './matmul.ts';
import { TruncatedRow } from './truncate.ts';

/** Rows whose logits are held at a time. */
const BLOCK = 64;

/**
 * Negative log-likelihood of the targets under the truncated distribution (see `Truncation`), nats; +Infinity outside of
 * it, 0 where the weight is 0.
 * hidden [N, D], embed [V, D], states [N] (of the grammar, where there is one) → nll [N].
 */
export function truncatedLoss(
  hidden: Reals,
  embed: Reals,
  { targets, weights }: PackedBatch,
  truncation: Truncation,
  states: Int32Array | undefined,
  { n, d, v }: CrossEntropySize,
): Float64Array {
  const nll = new Float64Array(n);
  const inputs = new Float64Array(BLOCK * d);
  const logits = new Float64Array(BLOCK * v);
  const rows: number[] = [];
  const row = new TruncatedRow(v);
  const flush = () => {
    matmulNt(inputs, embed, logits, { n: rows.length, m: v, k: d });
    for (const [i, at] of rows.entries())
      nll[at] = 0 - row.read(logits, i * v, truncation, states?.[at]).logProb(targets[at]!);
    rows.length = 0;
  };
  for (let at = 0; at < n; at++) {
    if (weights[at] === 0) continue;
    for (let j = 0; j < d; j++) inputs[rows.length * d + j] = hidden[at * d + j]!;
    if (rows.push(at) === BLOCK) flush();
  }
  if (rows.length > 0) flush();
  return nll;
}
