import type { PackedBatch, PolicyShape } from './engine.ts';
import { upRows } from './layout.ts';

/**
 * Floating-point operations of one training step: every product of the forward pass once, and twice in the backward
 * pass (gradient of the input and of the weight). Products of N rows with the layers' matrices 2·N·(4D² + 2DF), 3DF for
 * 2DF where the MLP is gated, logits of the trained rows 2·V·D each, attention 4·D for each pair of positions that see
 * each other. Element-wise work is left out.
 */
export function stepFlops(shape: PolicyShape, batch: PackedBatch): number {
  const { width, hidden, layers, vocab } = shape;
  let pairs = 0;
  let trained = 0;
  for (let n = 0; n < batch.tokens.length; n++) {
    pairs += n - batch.starts[n]! + 1;
    if (batch.weights[n]! > 0) trained++;
  }
  const products = 2 * batch.tokens.length * layers * (4 * width * width + width * (upRows(shape) + hidden));
  return 3 * (products + 2 * trained * vocab * width + 4 * pairs * width * layers);
}
