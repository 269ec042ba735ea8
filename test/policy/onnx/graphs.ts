import { Rng } from '../../../src/base/rng.ts';
import { BOOL, FLOAT, FLOAT16, INT64, OnnxGraph } from '../../../src/policy/onnx/graph.ts';

/** A language model that is nothing like the lab's own, in the conventions of Optimum's exports. */
export interface Oddity {
  vocab: number;
  /** Element type of the logits. */
  half?: boolean;
  /** Name of the output. */
  output?: string;
  /** Looks at the whole row, as an encoder does. */
  ahead?: boolean;
  /** With `past_key_values.0.key` and `.value`, of 3 heads for each kind, and these names for its free sizes. */
  cache?: { batch: string; past: string };
  /** More int64 inputs [batch, sequence], which nothing reads. */
  extra?: string[];
  /** Flags of transformers.js: whether there is a past, and how many logits are wanted. */
  flags?: boolean;
  /** Takes ids alone: no mask, no positions. */
  bare?: boolean;
  /** Gives one row of logits a sequence, as a classifier does. */
  pooled?: boolean;
  opset?: number;
  metadata?: Record<string, string>;
}

/** Width of what is summed, and of one head. */
export const WIDTH = 6;
const HEAD = 2;

/**
 * logits_i = W · Σ_{j ≤ i, real} E[token_j] · cos(position_j): an average with no attention, whose "keys" are the summands
 * and whose "values" are ones. What it gives can be worked out by hand (`oddLogits`).
 */
export function oddGraph(odd: Oddity): Uint8Array<ArrayBuffer> {
  const graph = new OnnxGraph();
  const { embed, head } = oddWeights(odd.vocab);
  const columns = odd.cache ? 'past_sequence_length + sequence_length' : 'sequence_length';
  graph.input('input_ids', INT64, ['batch_size', 'sequence_length']);
  if (!odd.bare) {
    graph.input('attention_mask', INT64, ['batch_size', columns]);
    graph.input('position_ids', INT64, ['batch_size', 'sequence_length']);
  }
  for (const name of odd.extra ?? []) graph.input(name, INT64, ['batch_size', 'sequence_length']);
  if (odd.flags) {
    graph.input('use_cache_branch', BOOL, [1]);
    graph.input('num_logits_to_keep', INT64, []);
  }
  graph.floats('embed', [odd.vocab, WIDTH], embed);
  graph.floats('head', [WIDTH, odd.vocab], head);
  const real = (value: string) => graph.op('Cast', [value], { to: FLOAT });
  const sizeOf = (value: string) => graph.op('Gather', [graph.op('Shape', [value]), graph.ints(1)]);
  const scalar = (value: string) => graph.op('Squeeze', [value]);
  const range = (from: string, to: string) =>
    graph.op('Range', [scalar(from), scalar(to), scalar(graph.ints(1))]);
  const end = sizeOf(odd.bare ? 'input_ids' : 'attention_mask');
  const positions = odd.bare
    ? graph.op('Unsqueeze', [range(graph.ints(0), end), graph.ints(0)])
    : 'position_ids';
  const places = graph.op('Unsqueeze', [real(positions), graph.ints(2)]);
  const terms = graph.op('Mul', [graph.op('Gather', ['embed', 'input_ids']), graph.op('Cos', [places])]);
  const all = odd.cache ? withPast(graph, terms, odd.cache) : terms;
  // Sum over the columns that a position sees: [S, P + S] · [B, P + S, 6].
  const masked = odd.bare
    ? all
    : graph.op('Mul', [all, graph.op('Unsqueeze', [real('attention_mask'), graph.ints(2)])]);
  const rows = range(graph.op('Sub', [end, sizeOf('input_ids')]), end);
  const columnsOf = range(graph.ints(0), end);
  const rowsOf = graph.op('Unsqueeze', [rows, graph.ints(1)]);
  const seen = odd.ahead
    ? graph.op('GreaterOrEqual', [graph.op('Add', [columnsOf, rowsOf]), graph.ints(0)])
    : graph.op('LessOrEqual', [columnsOf, rowsOf]);
  let logits = graph.op('MatMul', [graph.op('MatMul', [real(seen), masked]), 'head']);
  if (odd.pooled) logits = graph.op('ReduceMean', [logits], { axes: [1], keepdims: 0 });
  const type = odd.half ? FLOAT16 : FLOAT;
  const output = odd.output ?? 'logits';
  graph.op('Cast', [logits], { to: type }, output);
  graph.output(
    output,
    type,
    odd.pooled ? ['batch_size', odd.vocab] : ['batch_size', 'sequence_length', odd.vocab],
  );
  return graph.model('odd', odd.opset ?? 14, odd.metadata ?? {});
}

/** Adds the summands to the keys of before, 3 heads of 2 numbers, and gives all of them [B, P + S, 6]. */
function withPast(graph: OnnxGraph, terms: string, { batch, past }: { batch: string; past: string }): string {
  const sizes = [batch, WIDTH / HEAD, past, HEAD];
  for (const part of ['key', 'value']) {
    graph.input(`past_key_values.0.${part}`, FLOAT, sizes);
    graph.output(`present.0.${part}`, FLOAT, [batch, WIDTH / HEAD, 'total', HEAD]);
  }
  const heads = graph.op('Transpose', [graph.op('Reshape', [terms, graph.ints(0, 0, WIDTH / HEAD, HEAD)])], {
    perm: [0, 2, 1, 3],
  });
  const keys = graph.op('Concat', ['past_key_values.0.key', heads], { axis: 2 }, 'present.0.key');
  graph.op('Concat', ['past_key_values.0.value', heads], { axis: 2 }, 'present.0.value');
  return graph.op('Reshape', [
    graph.op('Transpose', [keys], { perm: [0, 2, 1, 3] }),
    graph.ints(0, 0, WIDTH),
  ]);
}

function oddWeights(vocab: number): { embed: number[]; head: number[] } {
  const rng = new Rng('odd');
  const draw = () => Array.from({ length: vocab * WIDTH }, () => Math.fround(rng.float() * 4 - 2));
  return { embed: draw(), head: draw() };
}

/** The same sums in float64 [length, V]. */
export function oddLogits(vocab: number, tokens: readonly number[]): number[] {
  const { embed, head } = oddWeights(vocab);
  const sum = new Array<number>(WIDTH).fill(0);
  return tokens.flatMap((token, position) => {
    for (let d = 0; d < WIDTH; d++) sum[d] = sum[d]! + embed[token * WIDTH + d]! * Math.cos(position);
    return Array.from({ length: vocab }, (_, v) =>
      sum.reduce((all, x, d) => all + x * head[d * vocab + v]!, 0),
    );
  });
}
