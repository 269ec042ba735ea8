import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';

/** What the forward pass leaves behind of one layer. Row-major; N rows in use, more may be allocated. */
export interface LayerActivations {
  /** Residual stream into the layer [N, D]. */
  x: Float64Array;
  /** After the first norm [N, D]. */
  h1: Float64Array;
  /** Fused q, k, v, turned [N, 3D]. */
  qkv: Float64Array;
  /** Attention's output [N, D] and log-sum-exp [N, H]. */
  o: Float64Array;
  lse: Float64Array;
  /** Residual stream after attention [N, D]. */
  mid: Float64Array;
  /** After the second norm [N, D]. */
  h2: Float64Array;
  /** The MLP before its non-linearity ([N, F], or [N, 2F] where gated) and after it [N, F]. */
  up: Float64Array;
  act: Float64Array;
}

/** All memory of a training step for up to `rows` positions; nothing else is allocated between steps. */
export interface Workspace {
  rows: number;
  positions: Int32Array;
  layers: LayerActivations[];
  /** Residual stream after the last layer, and after the last norm [N, D]. */
  x: Float64Array;
  h: Float64Array;
  /** Of the loss [N]. */
  nll: Float64Array;
  lse: Float64Array;
  /**
   * Gradients on the way back: of the residual stream and of a norm's output [N, D], of qkv [N, 3D], of the MLP as `up` and
   * `act`.
   */
  dx: Float64Array;
  dh: Float64Array;
  dQkv: Float64Array;
  dUp: Float64Array;
  dAct: Float64Array;
}

/** Allocates the workspace for `rows` positions. */
export function allocate(shape: PolicyShape, rows: number): Workspace {
  const { width, heads, hidden } = shape;
  const reals = (columns: number) => new Float64Array(rows * columns);
  return {
    rows,
    positions: new Int32Array(rows),
    layers: Array.from({ length: shape.layers }, () => ({
      x: reals(width),
      h1: reals(width),
      qkv: reals(3 * width),
      o: reals(width),
      lse: reals(heads),
      mid: reals(width),
      h2: reals(width),
      up: reals(upRows(shape)),
      act: reals(hidden),
    })),
    x: reals(width),
    h: reals(width),
    nll: reals(1),
    lse: reals(1),
    dx: reals(width),
    dh: reals(width),
    dQkv: reals(3 * width),
    dUp: reals(upRows(shape)),
    dAct: reals(hidden),
  };
}
