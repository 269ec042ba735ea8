import { totalWeight } from '../batch.ts';
import type { PackedBatch, PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import { attention, attentionBackward } from './attention.ts';
import { crossEntropy, crossEntropyBackward } from './crossEntropy.ts';
import { embedGather, embedScatter } from './embed.ts';
import { gelu, geluBackward } from './gelu.ts';
import { matmulNn, matmulNt, matmulTn } from './matmul.ts';
import { rmsNorm, rmsNormBackward } from './norm.ts';
import { rotary } from './rotary.ts';
import { swiglu, swigluBackward } from './swiglu.ts';
import type { LayerWeights, Weights } from './weights.ts';
import type { LayerActivations, Workspace } from './workspace.ts';

/**
 * The transformer up to the last norm: `space.h` [N, D], whose product with the embedding gives the logits. Each layer:
 * x += out(attention(rotary(qkv(norm1(x))))); x += down(gelu(up(norm2(x)))), or swiglu for
 * gelu. The batch has at most `space.rows` positions.
 */
export function forward(shape: PolicyShape, weights: Weights, batch: PackedBatch, space: Workspace): void {
  const n = batch.tokens.length;
  const d = shape.width;
  for (let i = 0; i < n; i++) space.positions[i] = i - batch.starts[i]!;
  embedGather(batch.tokens, weights.embed, space.layers[0]!.x, { n, d });
  for (const [l, layer] of weights.layers.entries()) {
    const next = space.layers[l + 1]?.x ?? space.x;
    forwardLayer(shape, layer, batch, space.positions, space.layers[l]!, next);
  }
  rmsNorm(space.x, weights.norm, space.h, { n, d });
}

function forwardLayer(
  shape: PolicyShape,
  w: LayerWeights,
  batch: PackedBatch,
  positions: Int32Array,
  a: LayerActivations,
  next: Float64Array,
): void {
  const { width: d, heads, hidden } = shape;
  const n = batch.tokens.length;
  const size = { n, heads, headWidth: d / heads };
  rmsNorm(a.x, w.norm1, a.h1, { n, d });
  matmulNt(a.h1, w.qkv, a.qkv, { n, m: 3 * d, k: d });
  rotary(a.qkv, positions, size);
  attention(a.qkv, batch.starts, a.o, a.lse, size);
  a.mid.set(a.x);
  matmulNt(a.o, w.out, a.mid, { n, m: d, k: d }, true);
  rmsNorm(a.mid, w.norm2, a.h2, { n, d });
  matmulNt(a.h2, w.up, a.up, { n, m: upRows(shape), k: d });
  activate(shape, a.up, a.act, n);
  next.set(a.mid);
  matmulNt(a.act, w.down, next, { n, m: d, k: hidden }, true);
}

/** The MLP's non-linearity over n rows: up [N, F] or [N, 2F] → act [N, F]. */
export function activate({ mlp, hidden }: PolicyShape, up: Float64Array, act: Float64Array, n: number): void {
  if (mlp === 'swiglu') swiglu(up, act, { n, f: hidden });
  else gelu(up, act, n * hidden);
}

/**
 * Loss Σ w·nll / Σ w after `forward`; leaves `space.nll` and `space.lse`.
 * @param total Σ w of the step that the batch is part of; its own by default.
 */
export function loss(
  shape: PolicyShape,
  weights: Weights,
  batch: PackedBatch,
  space: Workspace,
  total = totalWeight(batch),
): number {
  const size = { n: batch.tokens.length, d: shape.width, v: shape.vocab, total };
  return crossEntropy(space.h, weights.embed, batch.targets, batch.weights, space.nll, space.lse, size);
}

/** Gradient of the loss after `forward` and `loss`, added to `gradient`; `total` as in `loss`. */
export function backward(
  shape: PolicyShape,
  weights: Weights,
  batch: PackedBatch,
  space: Workspace,
  gradient: Weights,
  total = totalWeight(batch),
): void {
  const { width: d, vocab: v } = shape;
  const n = batch.tokens.length;
  const { targets, weights: share } = batch;
  const size = { n, d, v, total };
  crossEntropyBackward(space.h, weights.embed, targets, share, space.lse, space.dh, gradient.embed, size);
  rmsNormBackward(space.x, weights.norm, space.dh, space.dx, gradient.norm, { n, d });
  for (let l = shape.layers - 1; l >= 0; l--)
    backwardLayer(shape, weights.layers[l]!, batch, space, space.layers[l]!, gradient.layers[l]!);
  embedScatter(batch.tokens, space.dx, gradient.embed, { n, d });
}

/** Takes `space.dx` from the layer's output to its input. */
function backwardLayer(
  shape: PolicyShape,
  w: LayerWeights,
  batch: PackedBatch,
  space: Workspace,
  a: LayerActivations,
  g: LayerWeights,
): void {
  const { width: d, heads, hidden } = shape;
  const { dx, dh, dQkv, dUp, dAct } = space;
  const m = upRows(shape);
  const n = batch.tokens.length;
  const size = { n, heads, headWidth: d / heads };

  matmulTn(dx, a.act, g.down, { n, m: d, k: hidden }, true);
  matmulNn(dx, w.down, dAct, { n, m: d, k: hidden });
  if (shape.mlp === 'swiglu') swigluBackward(a.up, dAct, dUp, { n, f: hidden });
  else geluBackward(a.up, dAct, dUp, n * hidden);
  matmulTn(dUp, a.h2, g.up, { n, m, k: d }, true);
  matmulNn(dUp, w.up, dh, { n, m, k: d });
  rmsNormBackward(a.mid, w.norm2, dh, dx, g.norm2, { n, d }, true);

  matmulTn(dx, a.o, g.out, { n, m: d, k: d }, true);
  matmulNn(dx, w.out, dh, { n, m: d, k: d });
  attentionBackward(a.qkv, batch.starts, a.o, a.lse, dh, dQkv, size);
  rotary(dQkv, space.positions, size, -1);
  matmulTn(dQkv, a.h1, g.qkv, { n, m: 3 * d, k: d }, true);
  matmulNn(dQkv, w.qkv, dh, { n, m: 3 * d, k: d });
  rmsNormBackward(a.x, w.norm1, dh, dx, g.norm1, { n, d }, true);
}
