import type { PolicyShape } from '../engine.ts';
import { layout } from '../layout.ts';

/** Views of one layer's tensors in a flat buffer; shapes as in `layout`. */
export interface LayerWeights {
  norm1: Float64Array;
  qkv: Float64Array;
  out: Float64Array;
  norm2: Float64Array;
  up: Float64Array;
  down: Float64Array;
}

/** Views of all tensors in a flat buffer of parameters or of their gradient. */
export interface Weights {
  embed: Float64Array;
  layers: LayerWeights[];
  norm: Float64Array;
}

/** Names the tensors of a flat buffer of `parameterCount(shape)` entries; the views share its memory. */
export function weightsOf(shape: PolicyShape, flat: Float64Array): Weights {
  const views = new Map(
    layout(shape).tensors.map((t) => [t.name, flat.subarray(t.offset, t.offset + t.size)]),
  );
  const view = (name: string) => views.get(name)!;
  return {
    embed: view('embed'),
    layers: Array.from({ length: shape.layers }, (_, l) => ({
      norm1: view(`${l}.norm1`),
      qkv: view(`${l}.qkv`),
      out: view(`${l}.out`),
      norm2: view(`${l}.norm2`),
      up: view(`${l}.up`),
      down: view(`${l}.down`),
    })),
    norm: view('norm'),
  };
}
