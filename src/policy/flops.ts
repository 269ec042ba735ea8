import type { PackedBatch, PolicyShape } from './engine.ts';
import { upRows } from './layout.ts';

/**
 * Floating-point operations that one training step asks for: every product of the forward pass once, and twice in the
 * backward pass (gradient of the input and of the weight). A row of a layer costs 2·3D² up to its attention and
 * 2·(D² + 2DF) behind it, 3DF for 2DF where the MLP is gated; behind the last attention only trained rows count, since
 * nothing looks at the others, and their logits, 2·V·D each. Attention costs 4·D for each pair of positions that see each
 * other. Element-wise work is left out.
 */
export function stepFlops(shape: PolicyShape, batch: PackedBatch): number {
  const { width, hidden, layers, vocab } = shape;
  let pairs = 0;
  let trained = 0;
  for (let n = 0; n < batch.tokens.length; n++) {
    pairs += n - batch.starts[n]! + 1;
    if (batch.weights[n]! > 0) trained++;
  }
  const n = batch.tokens.length;
  const before = 3 * width * width;
  const behind = width * width + width * (upRows(shape) + hidden);
  const products = n * layers * before + (n * (layers - 1) + trained) * behind + trained * vocab * width;
  return 3 * (2 * products + 4 * pairs * width * layers);
}
