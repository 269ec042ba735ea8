import type { PackedBatch, Truncation } from '../engine.ts';
import { TruncatedRow } from '../twin/truncate.ts';
import type { Machine } from './machine.ts';
import { logitRows, rounded, type Workspace } from './workspace.ts';

/** Visits the logits [V] of each of `count` chosen rows after `forward`; the view ends with the visit. */
export function logits(
  { kernels, memory, shape, weights }: Machine,
  { step }: Workspace,
  count: number,
  visit: (row: number, values: Float32Array) => void,
): void {
  const { width: d, vocab } = shape;
  const block = logitRows(vocab);
  const stride = rounded(vocab);
  for (let first = 0; first < count; first += block) {
    const rows = Math.min(block, count - first);
    const inputs = step.h + 4 * first * d;
    kernels.product(inputs, d, false, weights.embed, d, false, step.logits, stride, 0, rows, vocab, d);
    for (let i = 0; i < rows; i++) visit(first + i, memory.reals(step.logits + 4 * i * stride, vocab));
  }
}

/**
 * Negative log-likelihood of the chosen rows' targets under a truncated distribution (see `Truncation`) after `forward`,
 * nats, into `nll` [N]; +Infinity outside of it.
 */
export function truncatedLoss(
  machine: Machine,
  space: Workspace,
  chosen: Int32Array,
  asked: { batch: PackedBatch; truncation: Truncation; states: Int32Array | undefined },
  nll: Float32Array,
): void {
  const { batch, truncation, states } = asked;
  const distribution = new TruncatedRow(machine.shape.vocab);
  logits(machine, space, chosen.length, (row, values) => {
    const at = chosen[row]!;
    distribution.read(values, 0, truncation, states?.[at]);
    nll[at] = 0 - distribution.logProb(batch.targets[at]!);
  });
}
