import type { Checkpoint, PolicyShape } from '../engine.ts';
import { layout } from '../layout.ts';
import { checkCheckpoint } from '../shape.ts';
import { NORM_EPSILON } from '../twin/norm.ts';
import { ROTARY_BASE } from '../twin/rotary.ts';
import { FLOAT, INT64, OnnxGraph } from './graph.ts';

/** Operator set of the model. */
const OPSET = 17;

/** Values that all layers share. */
interface Shared {
  cos: string;
  sin: string;
  /** [S, P + S], true where a position may look. */
  visible: string;
}

/**
 * The policy as an ONNX model of standard operators (opset 17), with the weights under the names of `layout`.
 * Input `input_ids` int64 [batch, sequence]; output `logits` float32 [batch, sequence, V]. Attention is causal, so
 * shorter sequences are padded on the right with any id and their padding ignored. The sequence may be as long as the context.
 * With `cache`, inputs `past_key_l`, `past_value_l` float32 [batch, heads, past, Dh] (past may be 0) stand before the
 * sequence, and outputs `present_key_l`, `present_value_l` [batch, heads, past + sequence, Dh] are the next call's past.
 * @throws LabError on a checkpoint that is not whole and finite.
 */
export function exportOnnx(checkpoint: Checkpoint, options: { cache?: boolean } = {}): Uint8Array {
  checkCheckpoint(checkpoint);
  const { shape, parameters, step } = checkpoint;
  const graph = new OnnxGraph();
  graph.input('input_ids', INT64, ['batch', 'sequence']);
  for (const { name, shape: dims, offset, size } of layout(shape).tensors)
    graph.floats(name, dims, parameters.subarray(offset, offset + size));
  if (options.cache) declareCache(graph, shape);
  const shared = positions(graph, shape, options.cache === true);
  let x = graph.op('Gather', ['embed', 'input_ids']);
  for (let l = 0; l < shape.layers; l++) {
    const attended = attention(graph, shape, l, norm(graph, x, `${l}.norm1`), shared, options.cache === true);
    x = graph.op('Add', [x, attended]);
    const hidden = gelu(graph, linear(graph, norm(graph, x, `${l}.norm2`), `${l}.up`));
    x = graph.op('Add', [x, linear(graph, hidden, `${l}.down`)]);
  }
  linear(graph, norm(graph, x, 'norm'), 'embed', 'logits');
  graph.output('logits', FLOAT, ['batch', 'sequence', shape.vocab]);
  return graph.model('policy', OPSET, { shape: JSON.stringify(shape), step: String(step) });
}

/** Declares past inputs and present outputs of every layer. */
function declareCache(graph: OnnxGraph, { layers, heads, width }: PolicyShape): void {
  for (let l = 0; l < layers; l++)
    for (const part of ['key', 'value']) {
      graph.input(`past_${part}_${l}`, FLOAT, ['batch', heads, 'past', width / heads]);
      graph.output(`present_${part}_${l}`, FLOAT, ['batch', heads, 'past + sequence', width / heads]);
    }
}

/** Tables of the rotary positions P … P + S − 1 [S, Dh/2] and the causal mask, with P = 0 without a cache. */
function positions(graph: OnnxGraph, shape: PolicyShape, cache: boolean): Shared {
  const sizeOf = (value: string, axis: number) =>
    graph.op('Gather', [graph.op('Shape', [value]), graph.ints(axis)]);
  const first = cache ? sizeOf('past_key_0', 2) : graph.ints(0);
  const end = graph.op('Add', [first, sizeOf('input_ids', 1)]);
  const half = shape.width / shape.heads / 2;
  const table = (name: string, turn: (angle: number) => number) => {
    const values = Array.from({ length: shape.context * half }, (_, i) =>
      turn(Math.floor(i / half) * ROTARY_BASE ** (-(i % half) / half)),
    );
    const whole = graph.floats(name, [shape.context, half], values);
    return graph.op('Slice', [whole, first, end, graph.ints(0)]);
  };
  // Range takes scalars.
  const scalar = (value: string) => graph.op('Squeeze', [value]);
  const one = graph.op('Squeeze', [graph.ints(1)]);
  const from = (start: string) => graph.op('Range', [scalar(start), scalar(end), one]);
  const rows = graph.op('Unsqueeze', [from(first), graph.ints(1)]);
  return {
    cos: table('rotary.cos', Math.cos),
    sin: table('rotary.sin', Math.sin),
    visible: graph.op('LessOrEqual', [from(graph.ints(0)), rows]),
  };
}

/** x · g / √(mean(x²) + ε). */
function norm(graph: OnnxGraph, x: string, gain: string): string {
  const square = graph.op('ReduceMean', [graph.op('Mul', [x, x])], { axes: [-1], keepdims: 1 });
  const root = graph.op('Sqrt', [graph.op('Add', [square, graph.float(NORM_EPSILON)])]);
  return graph.op('Mul', [graph.op('Div', [x, root]), gain]);
}

/** x · Wᵀ. Weights keep the orientation [out, in] of the checkpoint; runtimes fold the transpose when they load. */
function linear(graph: OnnxGraph, x: string, weight: string, output?: string): string {
  const turned = graph.op('Transpose', [weight], { perm: [1, 0] });
  return graph.op('MatMul', [x, turned], {}, output);
}

/** x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))). */
function gelu(graph: OnnxGraph, x: string): string {
  const cube = graph.op('Mul', [graph.op('Pow', [x, graph.float(3)]), graph.float(0.044715)]);
  const inner = graph.op('Mul', [graph.op('Add', [x, cube]), graph.float(Math.sqrt(2 / Math.PI))]);
  const gate = graph.op('Add', [graph.op('Tanh', [inner]), graph.float(1)]);
  return graph.op('Mul', [graph.op('Mul', [x, graph.float(0.5)]), gate]);
}

function attention(
  graph: OnnxGraph,
  shape: PolicyShape,
  l: number,
  x: string,
  shared: Shared,
  cache: boolean,
): string {
  const { heads, width } = shape;
  const headWidth = width / heads;
  // 0 keeps the size: [B, S, D] → [B, S, H, Dh] → [B, H, S, Dh].
  const apart = (value: string) =>
    graph.op('Transpose', [graph.op('Reshape', [value, graph.ints(0, 0, heads, headWidth)])], {
      perm: [0, 2, 1, 3],
    });
  const extended = (part: string, value: string) =>
    cache ? graph.op('Concat', [`past_${part}_${l}`, value], { axis: 2 }, `present_${part}_${l}`) : value;
  const [q, k, v] = graph.split(linear(graph, x, `${l}.qkv`), 3).map(apart) as [string, string, string];
  const keys = extended('key', turn(graph, k, shared));
  const values = extended('value', v);
  const product = graph.op('MatMul', [
    turn(graph, q, shared),
    graph.op('Transpose', [keys], { perm: [0, 1, 3, 2] }),
  ]);
  const scores = graph.op('Mul', [product, graph.float(1 / Math.sqrt(headWidth))]);
  const masked = graph.op('Where', [shared.visible, scores, graph.float(-1e30)]);
  const mixed = graph.op('MatMul', [graph.op('Softmax', [masked], { axis: -1 }), values]);
  const together = graph.op('Reshape', [
    graph.op('Transpose', [mixed], { perm: [0, 2, 1, 3] }),
    graph.ints(0, 0, width),
  ]);
  return linear(graph, together, `${l}.out`);
}

/** Rotary positions on [B, H, S, Dh]: the pair (i, i + Dh/2) turns by the tables. */
function turn(graph: OnnxGraph, x: string, { cos, sin }: Shared): string {
  const [a, b] = graph.split(x, 2) as [string, string];
  const left = graph.op('Sub', [graph.op('Mul', [a, cos]), graph.op('Mul', [b, sin])]);
  const right = graph.op('Add', [graph.op('Mul', [a, sin]), graph.op('Mul', [b, cos])]);
  return graph.op('Concat', [left, right], { axis: -1 });
}
