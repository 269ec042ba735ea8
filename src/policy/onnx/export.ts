import { LabError } from '../../base/errors.ts';
import type { Checkpoint, PolicyShape } from '../engine.ts';
import { layout } from '../layout.ts';
import { checkCheckpoint } from '../shape.ts';
import { ROTARY_BASE } from '../twin/rotary.ts';
import { attention, linear, mlp, norm, past, present, type Shared } from './blocks.ts';
import { FLOAT, INT64, OnnxGraph } from './graph.ts';

/** Operator set of the model. */
const OPSET = 17;
/** What the file says of itself under `format`. */
export const ONNX_FORMAT = 'rollout-lab-policy-1';

/** Names of the free dimensions, as exporters in the field write them. */
const BATCH = 'batch_size';
const SEQUENCE = 'sequence_length';
const PAST = 'past_sequence_length';

/** Whose ids a policy speaks: the name of its tokenizer (`Tokenizer.identity`) and how many ids there are. */
export interface TokenIds {
  identity: string;
  size: number;
}

export interface ExportOptions {
  /** With inputs and outputs for keys and values, to go on token by token. */
  cache?: boolean;
  tokenizer?: TokenIds;
  /** How the ids are spelled, where that is a closed list [V]: other tools can then read what the policy says. */
  vocabulary?: readonly string[];
}

/**
 * The policy as an ONNX model of standard operators (opset 17), with the weights under the names of `layout`.
 * Inputs: `input_ids` int64 [B, S]; `attention_mask` int64 [B, P + S], 1 = a token, 0 = padding, which nobody looks at and
 * may stand on either side; `position_ids` int64 [B, S], the place of each token in its sequence, below the context.
 * Output: `logits` float32 [B, S, V]; those of padding mean nothing. Attention is causal.
 * With `cache`, inputs `past_key_values.l.key` and `.value` float32 [B, heads, P, Dh] (P may be 0) stand before the sequence,
 * and outputs `present.l.key` and `.value` [B, heads, P + S, Dh] are the next call's past. Without it P = 0.
 * The file's metadata: `format`, `shape` (JSON), `step`, `tokenizer` (its identity), `vocabulary` (JSON).
 * @throws LabError on a checkpoint that is not whole and finite, or a tokenizer of another size.
 */
export function exportOnnx(checkpoint: Checkpoint, options: ExportOptions = {}): Uint8Array<ArrayBuffer> {
  checkCheckpoint(checkpoint);
  const { shape, parameters } = checkpoint;
  const cache = options.cache === true;
  const graph = new OnnxGraph();
  graph.input('input_ids', INT64, [BATCH, SEQUENCE]);
  graph.input('attention_mask', INT64, [BATCH, cache ? `${PAST} + ${SEQUENCE}` : SEQUENCE]);
  graph.input('position_ids', INT64, [BATCH, SEQUENCE]);
  for (const { name, shape: dims, offset, size } of layout(shape).tensors)
    graph.floats(name, dims, parameters.subarray(offset, offset + size));
  graph.output('logits', FLOAT, [BATCH, SEQUENCE, shape.vocab]);
  if (cache) declareCache(graph, shape);
  const shared: Shared = { ...turns(graph, shape), bias: lookBias(graph, cache) };
  let x = graph.op('Gather', ['embed', 'input_ids']);
  for (let l = 0; l < shape.layers; l++) {
    x = graph.op('Add', [x, attention(graph, shape, l, norm(graph, x, `${l}.norm1`), shared, cache)]);
    x = graph.op('Add', [x, mlp(graph, shape, l, norm(graph, x, `${l}.norm2`))]);
  }
  linear(graph, norm(graph, x, 'norm'), 'embed', 'logits');
  return graph.model('policy', OPSET, metadata(checkpoint, options));
}

function metadata(
  { shape, step }: Checkpoint,
  { tokenizer, vocabulary }: ExportOptions,
): Record<string, string> {
  for (const [field, size] of [
    ['tokenizer', tokenizer?.size],
    ['vocabulary', vocabulary?.length],
  ] as const)
    if (size !== undefined && size !== shape.vocab)
      throw new LabError(`${size} token ids for a policy of ${shape.vocab}`, {
        where: `options.${field}`,
        remedy: 'give the one that this policy was trained with',
      });
  return {
    format: ONNX_FORMAT,
    shape: JSON.stringify(shape),
    step: String(step),
    ...(tokenizer ? { tokenizer: tokenizer.identity } : {}),
    ...(vocabulary ? { vocabulary: JSON.stringify(vocabulary) } : {}),
  };
}

/** Declares past inputs and present outputs of every layer. */
function declareCache(graph: OnnxGraph, { layers, heads, width }: PolicyShape): void {
  for (let l = 0; l < layers; l++)
    for (const part of ['key', 'value'] as const) {
      graph.input(past(l, part), FLOAT, [BATCH, heads, PAST, width / heads]);
      graph.output(present(l, part), FLOAT, [BATCH, heads, `${PAST} + ${SEQUENCE}`, width / heads]);
    }
}

/** Cosines and sines of the rotary angles at `position_ids` [B, 1, S, Dh/2]. */
function turns(graph: OnnxGraph, { context, width, heads }: PolicyShape): Pick<Shared, 'cos' | 'sin'> {
  const half = width / heads / 2;
  const table = (name: string, turn: (angle: number) => number) => {
    const values = Array.from({ length: context * half }, (_, i) =>
      turn(Math.floor(i / half) * ROTARY_BASE ** (-(i % half) / half)),
    );
    const whole = graph.floats(name, [context, half], values);
    return graph.op('Unsqueeze', [graph.op('Gather', [whole, 'position_ids']), graph.ints(1)]);
  };
  return { cos: table('rotary.cos', Math.cos), sin: table('rotary.sin', Math.sin) };
}

/** What is added to the scores: position P + i looks at 0 … P + i, except at padding. */
function lookBias(graph: OnnxGraph, cache: boolean): string {
  const sizeOf = (value: string, axis: number) =>
    graph.op('Gather', [graph.op('Shape', [value]), graph.ints(axis)]);
  // Range takes scalars.
  const scalar = (value: string) => graph.op('Squeeze', [value]);
  const first = cache ? sizeOf(past(0, 'key'), 2) : graph.ints(0);
  const end = graph.op('Add', [first, sizeOf('input_ids', 1)]);
  const from = (start: string) => graph.op('Range', [scalar(start), scalar(end), scalar(graph.ints(1))]);
  const rows = graph.op('Unsqueeze', [from(first), graph.ints(1)]);
  const causal = graph.op('LessOrEqual', [from(graph.ints(0)), rows]);
  const tokens = graph.op('Greater', ['attention_mask', graph.ints(0)]);
  const visible = graph.op('And', [graph.op('Unsqueeze', [tokens, graph.ints(1, 2)]), causal]);
  return graph.op('Where', [visible, graph.float(0), graph.float(-1e30)]);
}
