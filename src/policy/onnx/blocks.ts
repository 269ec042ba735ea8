import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import { NORM_EPSILON } from '../twin/norm.ts';
import type { OnnxGraph } from './graph.ts';

/** Values that all layers share. */
export interface Shared {
  /** Rotary tables at the positions of the sequence [B, 1, S, Dh/2]. */
  cos: string;
  sin: string;
  /** Added to the scores [B, 1, S, P + S]: 0 where a position may look, −1e30 where it may not. */
  bias: string;
}

/** x · g / √(mean(x²) + ε). */
export function norm(graph: OnnxGraph, x: string, gain: string): string {
  const square = graph.op('ReduceMean', [graph.op('Mul', [x, x])], { axes: [-1], keepdims: 1 });
  const root = graph.op('Sqrt', [graph.op('Add', [square, graph.float(NORM_EPSILON)])]);
  return graph.op('Mul', [graph.op('Div', [x, root]), gain]);
}

/** x · Wᵀ. Weights keep the orientation [out, in] of the checkpoint; runtimes fold the transpose when they load. */
export function linear(graph: OnnxGraph, x: string, weight: string, output?: string): string {
  const turned = graph.op('Transpose', [weight], { perm: [1, 0] });
  return graph.op('MatMul', [x, turned], {}, output);
}

/** down(gelu(up(x))), or down(silu(gate) · up) where the MLP is gated. */
export function mlp(graph: OnnxGraph, shape: PolicyShape, l: number, x: string): string {
  const up = linear(graph, x, `${l}.up`);
  const gated = upRows(shape) !== shape.hidden;
  return linear(graph, gated ? swiglu(graph, up) : gelu(graph, up), `${l}.down`);
}

/** x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))). The cube is a product: a power of a negative number is not safe in WGSL. */
function gelu(graph: OnnxGraph, x: string): string {
  const cube = graph.op('Mul', [graph.op('Mul', [graph.op('Mul', [x, x]), x]), graph.float(0.044715)]);
  const inner = graph.op('Mul', [graph.op('Add', [x, cube]), graph.float(Math.sqrt(2 / Math.PI))]);
  const gate = graph.op('Add', [graph.op('Tanh', [inner]), graph.float(1)]);
  return graph.op('Mul', [graph.op('Mul', [x, graph.float(0.5)]), gate]);
}

/** g · σ(g) · u with (g, u) = x. */
function swiglu(graph: OnnxGraph, x: string): string {
  const [gate, up] = graph.split(x, 2) as [string, string];
  return graph.op('Mul', [graph.op('Mul', [gate, graph.op('Sigmoid', [gate])]), up]);
}

/** Names of the cache of one layer. */
export const past = (l: number, part: 'key' | 'value') => `past_key_values.${l}.${part}`;
export const present = (l: number, part: 'key' | 'value') => `present.${l}.${part}`;

/** Attention of layer l over the cache, where there is one, and the sequence. [B, S, D] → [B, S, D]. */
export function attention(
  graph: OnnxGraph,
  { heads, width }: PolicyShape,
  l: number,
  x: string,
  shared: Shared,
  cache: boolean,
): string {
  const headWidth = width / heads;
  // 0 keeps the size: [B, S, D] → [B, S, H, Dh] → [B, H, S, Dh].
  const apart = (value: string) =>
    graph.op('Transpose', [graph.op('Reshape', [value, graph.ints(0, 0, heads, headWidth)])], {
      perm: [0, 2, 1, 3],
    });
  const extended = (part: 'key' | 'value', value: string) =>
    cache ? graph.op('Concat', [past(l, part), value], { axis: 2 }, present(l, part)) : value;
  const [q, k, v] = graph.split(linear(graph, x, `${l}.qkv`), 3).map(apart) as [string, string, string];
  const keys = extended('key', turn(graph, k, shared));
  const values = extended('value', v);
  const product = graph.op('MatMul', [
    turn(graph, q, shared),
    graph.op('Transpose', [keys], { perm: [0, 1, 3, 2] }),
  ]);
  const scores = graph.op('Mul', [product, graph.float(1 / Math.sqrt(headWidth))]);
  const masked = graph.op('Add', [scores, shared.bias]);
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
