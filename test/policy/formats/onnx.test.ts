import { describe, expect, it } from 'vitest';
import { exportOnnx } from '../../../src/policy/onnx/export.ts';
import { readOnnx } from '../../../src/policy/onnx/file.ts';
import { FLOAT, OnnxGraph } from '../../../src/policy/onnx/graph.ts';
import { openOnnxPolicy } from '../../../src/policy/onnx/policy.ts';
import { checkStructure, declared } from '../onnx/check.ts';
import {
  batchOf,
  LIMIT,
  nameOf,
  ort,
  SHAPES,
  sequences,
  spread,
  twinLogits,
  worst,
} from '../onnx/harness.ts';
import { randomCheckpoint } from './checkpoints.ts';

const kinds = SHAPES.flatMap((shape) =>
  [false, true].map((cache) => ({
    name: `${nameOf(shape)}, ${cache ? 'with' : 'without'} cache`,
    shape,
    cache,
  })),
);

describe.each(kinds)('the exported model ($name)', ({ shape, cache }) => {
  const checkpoint = randomCheckpoint(1, shape);

  it('is a sound graph with the names of the field', () => {
    const bytes = exportOnnx(checkpoint, { cache });
    expect(checkStructure(bytes)).toEqual([]);
    const { inputs, outputs } = declared(readOnnx(bytes));
    const past = [1, 'batch_size', shape.heads, 'past_sequence_length', shape.width / shape.heads];
    const present = past.with(3, 'past_sequence_length + sequence_length');
    const parts = Array.from({ length: shape.layers }, (_, l) => [`${l}.key`, `${l}.value`]).flat();
    const slots = (name: string, dims: unknown) =>
      Object.fromEntries(parts.map((part) => [`${name}.${part}`, dims]));
    const columns = cache ? 'past_sequence_length + sequence_length' : 'sequence_length';
    expect(inputs).toEqual({
      input_ids: [7, 'batch_size', 'sequence_length'],
      attention_mask: [7, 'batch_size', columns],
      position_ids: [7, 'batch_size', 'sequence_length'],
      ...(cache ? slots('past_key_values', past) : {}),
    });
    expect(outputs).toEqual({
      logits: [1, 'batch_size', 'sequence_length', shape.vocab],
      ...(cache ? slots('present', present) : {}),
    });
  });

  it('gives the twin’s logits on ragged lengths up to the context, several sequences at once', async () => {
    const policy = await openOnnxPolicy(ort, exportOnnx(checkpoint, { cache }), 'wasm');
    expect(policy.shape).toEqual(shape);
    const batch = batchOf(sequences(1, shape));
    const wanted = await twinLogits(checkpoint, batch);
    expect(spread(wanted)).toBeGreaterThan(2);
    expect(worst(await policy.logits(batch), wanted)).toBeLessThan(LIMIT);
    await policy.destroy();
  });

  it('does not look at padding, on whichever side it stands', async () => {
    const session = await ort.InferenceSession.create(exportOnnx(checkpoint, { cache }));
    const tokens = sequences(2, shape)[3] as number[];
    const wanted = await twinLogits(checkpoint, batchOf([tokens]));
    const pad = 5;
    for (const left of [0, pad]) {
      const columns = Array.from({ length: tokens.length + pad }, (_, i) => i - left);
      const inside = columns.map((i) => (i >= 0 && i < tokens.length ? i : -1));
      const ints = (values: number[]) =>
        new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
      const empty = () =>
        new ort.Tensor('float32', new Float32Array(0), [1, shape.heads, 0, shape.width / shape.heads]);
      const { logits } = await session.run({
        ...Object.fromEntries(session.inputNames.filter((n) => /^past/.test(n)).map((n) => [n, empty()])),
        input_ids: ints(inside.map((i) => (i < 0 ? 3 : tokens[i]!))),
        attention_mask: ints(inside.map((i) => (i < 0 ? 0 : 1))),
        position_ids: ints(inside.map((i) => Math.max(0, i))),
      });
      const mine = ((logits as ort.Tensor).data as Float32Array).slice(
        left * shape.vocab,
        (left + tokens.length) * shape.vocab,
      );
      expect(worst(mine, wanted)).toBeLessThan(LIMIT);
    }
    await session.release();
  });
});

describe('the check of graphs', () => {
  const faultsOf = (build: (graph: OnnxGraph) => string) => {
    const graph = new OnnxGraph();
    graph.input('x', FLOAT, ['n', 4]);
    graph.floats('w', [4, 3], new Array<number>(12).fill(1));
    graph.op('Tanh', [build(graph)], {}, 'y');
    graph.output('y', FLOAT, ['n', 3]);
    return checkStructure(graph.model('small', 17, {})).join('; ');
  };
  it('finds what is wrong with one', () => {
    expect(faultsOf((graph) => graph.op('MatMul', ['x', 'w']))).toBe('');
    expect(faultsOf(() => 'nothing')).toMatch(/nothing used before it is made/);
    expect(faultsOf((graph) => graph.op('MatMul', ['w', 'x']))).toMatch(/the inner sizes differ/);
    expect(faultsOf((graph) => graph.op('Add', ['x', 'x']))).toMatch(/output y is \[n,4\], declared \[n,3\]/);
    expect(faultsOf((graph) => graph.op('MatMul', ['x', 'w'], {}, 'w'))).toMatch(/w is made twice/);
  });
});

describe('the file', () => {
  const shape = SHAPES[1]!;
  const checkpoint = randomCheckpoint(6, shape);
  const words = Array.from({ length: shape.vocab }, (_, i) => `word ${i} ✓`);

  it('carries shape, step, tokenizer and words', () => {
    const file = readOnnx(
      exportOnnx(checkpoint, { tokenizer: { identity: 'words:1234', size: 29 }, vocabulary: words }),
    );
    expect(Object.fromEntries(file.metadata)).toEqual({
      format: 'rollout-lab-policy-1',
      shape: JSON.stringify(shape),
      step: '1234',
      tokenizer: 'words:1234',
      vocabulary: JSON.stringify(words),
    });
    expect([...file.opsets]).toEqual([['', 17]]);
  });

  it('holds the weights bit for bit under the names of the layout', () => {
    const { weights } = readOnnx(exportOnnx(checkpoint));
    const embed = weights.find(({ name }) => name === 'embed');
    expect(embed?.dims).toEqual([shape.vocab, shape.width]);
    const raw = embed?.raw as Uint8Array;
    expect(Buffer.from(raw)).toEqual(Buffer.from(checkpoint.parameters.buffer, 0, raw.length));
  });

  it('is not made of a checkpoint that is not finite, or with words for another vocabulary', () => {
    const broken = { ...checkpoint, parameters: checkpoint.parameters.slice() };
    broken.parameters[0] = Number.NaN;
    expect(() => exportOnnx(broken)).toThrow(/entry 0 is NaN/);
    expect(() => exportOnnx(checkpoint, { vocabulary: words.slice(1) })).toThrow(
      /28 token ids for a policy of 29/,
    );
  });

  it('is refused where it is cut anywhere, or is something else', () => {
    const bytes = exportOnnx(checkpoint);
    for (let end = 0; end < bytes.length; end += Math.ceil(bytes.length / 40))
      expect(() => readOnnx(bytes.subarray(0, end)), `cut at ${end}`).toThrow(/no ONNX model/);
    expect(() => readOnnx(new TextEncoder().encode('<html>not found</html>'))).toThrow(/no ONNX model/);
  });
});
