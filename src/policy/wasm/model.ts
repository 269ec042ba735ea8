import { upRows } from '../layout.ts';
import { type Address, matmulNn, matmulNt, matmulTn } from './kernels.ts';
import type { LayerWeights, Machine } from './machine.ts';
import { logitRows, type Workspace } from './workspace.ts';

/** N positions, of which R are chosen: their logits are wanted. */
export interface Rows {
  n: number;
  chosen: number;
}

/**
 * The transformer up to the last norm of the chosen rows: `step.h` [R, D], whose product with the embedding gives their
 * logits. Each layer: x += out(attention(rotary(qkv(norm1(x))))); x += down(mlp(up(norm2(x)))). From the last attention
 * on, only chosen rows are computed. The batch lies in the workspace.
 */
export function forward(machine: Machine, space: Workspace, { n, chosen }: Rows): void {
  const { kernels, weights, shape } = machine;
  const { batch, layers, step } = space;
  const d = shape.width;
  kernels.gatherRows(batch.tokens, weights.embed, layers[0]!.x, n, d);
  for (const [l, a] of layers.entries()) {
    const w = weights.layers[l]!;
    attend(machine, space, w, l, n);
    const next = layers[l + 1]?.x;
    if (next !== undefined) finishLayer(machine, w, a, { x: a.x, o: a.o, next }, n);
    else {
      kernels.gatherRows(batch.chosen, a.x, step.xChosen, chosen, d);
      kernels.gatherRows(batch.chosen, a.o, step.oChosen, chosen, d);
      finishLayer(machine, w, a, { x: step.xChosen, o: step.oChosen, next: step.last }, chosen);
    }
  }
  kernels.rmsNorm(step.last, weights.norm, step.h, chosen, d);
}

type Layer = Workspace['layers'][number];

function attend(machine: Machine, space: Workspace, w: LayerWeights, l: number, n: number): void {
  const { kernels, shape, headWidth, at } = machine;
  const { batch, step } = space;
  const { width: d, heads } = shape;
  const a = space.layers[l]!;
  kernels.rmsNorm(a.x, w.norm1, a.h1, n, d);
  matmulNt(kernels, { a: a.h1, b: w.qkv, c: a.qkv, n, m: 3 * d, k: d });
  kernels.rotary(a.qkv, batch.positions, at.turns, n, heads, headWidth, 1);
  kernels.attention(a.qkv, batch.starts, a.o, a.lse, step.scores, n, heads, headWidth);
}

/** From attention's output `o` and the residual stream `x` to the stream after the MLP, `next`, which may be `x`. */
export function finishLayer(
  machine: Machine,
  w: LayerWeights,
  a: Pick<Layer, 'mid' | 'h2' | 'up' | 'act'>,
  { x, o, next }: Record<'x' | 'o' | 'next', Address>,
  n: number,
): void {
  const { kernels, shape } = machine;
  const { width: d, hidden } = shape;
  matmulNt(kernels, { a: o, b: w.out, c: a.mid, addend: x, n, m: d, k: d });
  kernels.rmsNorm(a.mid, w.norm2, a.h2, n, d);
  matmulNt(kernels, { a: a.h2, b: w.up, c: a.up, n, m: upRows(shape), k: d });
  activate(machine, a.up, a.act, n);
  matmulNt(kernels, { a: a.act, b: w.down, c: next, addend: a.mid, n, m: d, k: hidden });
}

/** The MLP's non-linearity: before [N, F], or [N, 2F] where gated → after [N, F]. */
function activate({ kernels, shape }: Machine, before: Address, after: Address, n: number): void {
  if (shape.mlp === 'swiglu') kernels.swiglu(before, after, n, shape.hidden);
  else kernels.gelu(before, after, n * shape.hidden);
}

/** Leaves `step.nll` of the chosen rows after `forward`. */
export function loss(machine: Machine, space: Workspace, { chosen }: Rows): void {
  crossEntropy(machine, space, chosen, 0, 0);
}

/**
 * Leaves `step.nll` and adds the gradient of Σ w·nll / `total` to the machine's, after `forward`.
 * @param total Σ w over all that belongs to the step.
 */
export function backward(machine: Machine, space: Workspace, { n, chosen }: Rows, total: number): void {
  const { kernels, weights, gradients, shape } = machine;
  const { batch, layers, step } = space;
  const d = shape.width;
  crossEntropy(machine, space, chosen, step.dh, 1 / total);
  kernels.rmsNormBackward(step.last, weights.norm, step.dh, step.dxChosen, gradients.norm, chosen, d, false);
  for (let l = layers.length - 1; l >= 0; l--) {
    if (l < layers.length - 1) {
      backwardFinish(machine, space, l, { o: layers[l]!.o, dx: step.dx, dOut: step.dOut }, n);
    } else {
      const faces = { o: step.oChosen, dx: step.dxChosen, dOut: step.dh };
      backwardFinish(machine, space, l, faces, chosen);
      spread(machine, batch.chosen, step.dxChosen, step.dx, { n, chosen });
      spread(machine, batch.chosen, step.dh, step.dOut, { n, chosen });
    }
    backwardAttend(machine, space, l, n);
  }
  kernels.addRows(batch.tokens, step.dx, gradients.embed, n, d);
}

function crossEntropy(
  { kernels, shape, weights, gradients }: Machine,
  { batch, step }: Workspace,
  chosen: number,
  dHidden: Address,
  share: number,
): void {
  const { width, vocab } = shape;
  kernels.crossEntropy(
    step.h,
    weights.embed,
    batch.targets,
    batch.weights,
    step.logits,
    step.nll,
    dHidden,
    gradients.embed,
    chosen,
    width,
    vocab,
    logitRows(vocab),
    share,
  );
}

/** Rows of the chosen to their places among all N; 0 elsewhere. */
function spread(
  { kernels, memory, shape }: Machine,
  ids: Address,
  from: Address,
  to: Address,
  rows: Rows,
): void {
  memory.reals(to, rows.n * shape.width).fill(0);
  kernels.scatterRows(ids, from, to, rows.chosen, shape.width);
}

/** Takes `dx` from the layer's output to the stream after attention, and gives attention's `dOut`. */
function backwardFinish(
  machine: Machine,
  { layers, step }: Workspace,
  l: number,
  { o, dx, dOut }: Record<'o' | 'dx' | 'dOut', Address>,
  n: number,
): void {
  const { kernels, shape, weights, gradients } = machine;
  const { width: d, hidden } = shape;
  const [w, g, a] = [weights.layers[l]!, gradients.layers[l]!, layers[l]!];
  const { dh, wide, dAct } = step;
  const rows = upRows(shape);
  matmulTn(kernels, { a: dx, b: a.act, c: g.down, addend: g.down, n, m: d, k: hidden });
  if (shape.mlp === 'swiglu') {
    matmulNn(kernels, { a: dx, b: w.down, c: dAct, n, m: d, k: hidden });
    kernels.swigluBackward(a.up, dAct, wide, n, hidden);
  } else {
    matmulNn(kernels, { a: dx, b: w.down, c: wide, n, m: d, k: hidden });
    kernels.geluBackward(a.up, wide, wide, n * hidden);
  }
  matmulTn(kernels, { a: wide, b: a.h2, c: g.up, addend: g.up, n, m: rows, k: d });
  matmulNn(kernels, { a: wide, b: w.up, c: dh, n, m: rows, k: d });
  kernels.rmsNormBackward(a.mid, w.norm2, dh, dx, g.norm2, n, d, true);
  matmulTn(kernels, { a: dx, b: o, c: g.out, addend: g.out, n, m: d, k: d });
  matmulNn(kernels, { a: dx, b: w.out, c: dOut, n, m: d, k: d });
}

/** Takes `step.dx` and `step.dOut` from attention's output to the layer's input, `step.dx`. */
function backwardAttend(machine: Machine, space: Workspace, l: number, n: number): void {
  const { kernels, shape, headWidth, weights, gradients, at } = machine;
  const { batch, step } = space;
  const { width: d, heads } = shape;
  const [w, g, a] = [weights.layers[l]!, gradients.layers[l]!, space.layers[l]!];
  const { dx, dh, dOut, wide } = step;
  kernels.attentionBackward(a.qkv, batch.starts, a.o, a.lse, dOut, step.scores, wide, n, heads, headWidth);
  kernels.rotary(wide, batch.positions, at.turns, n, heads, headWidth, -1);
  matmulTn(kernels, { a: wide, b: a.h1, c: g.qkv, addend: g.qkv, n, m: 3 * d, k: d });
  matmulNn(kernels, { a: wide, b: w.qkv, c: dh, n, m: 3 * d, k: d });
  kernels.rmsNormBackward(a.x, w.norm1, dh, dx, g.norm1, n, d, true);
}
