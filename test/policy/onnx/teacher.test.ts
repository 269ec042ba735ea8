import { describe, expect, it } from 'vitest';
import { exportOnnx } from '../../../src/policy/onnx/export.ts';
import { FLOAT, INT64, OnnxGraph } from '../../../src/policy/onnx/graph.ts';
import { halfToFloat } from '../../../src/policy/onnx/lm.ts';
import { ProtoWriter } from '../../../src/policy/onnx/protobuf.ts';
import { checkTeacherSize, importTeacher, type TeacherOptions } from '../../../src/policy/onnx/teacher.ts';
import { randomCheckpoint } from '../formats/checkpoints.ts';
import { type Oddity, oddGraph, oddLogits } from './graphs.ts';
import { batchOf, LIMIT, ort, SHAPES, sequences, twinLogits, worst } from './harness.ts';

const ids = (size: number, identity = 'words:a') => ({ size, identity });
const load = (bytes: Uint8Array, options: Partial<TeacherOptions> & Pick<TeacherOptions, 'student'>) =>
  importTeacher(ort, bytes, { provider: 'wasm', ...options });
/** A teacher that needs its tokenizer told, and is told the student's. */
const odd = (oddity: Oddity, size = oddity.vocab) =>
  load(oddGraph(oddity), { student: ids(size), tokenizer: ids(size) });

/** Row by row, logits less log Σ exp. */
function logSoftmax(logits: ArrayLike<number>, rows: number, vocab: number): number[] {
  return Array.from({ length: rows / vocab }, (_, n) => {
    const row = Array.from({ length: vocab }, (_, v) => logits[n * vocab + v]!);
    const top = Math.max(...row);
    const total = top + Math.log(row.reduce((sum, x) => sum + Math.exp(x - top), 0));
    return row.map((x) => x - total);
  }).flat();
}

describe('a policy of the lab as a teacher', () => {
  it.each([
    [SHAPES[0]!, true],
    [SHAPES[1]!, false],
  ])('gives the twin’s log-probabilities (%#)', async (shape, cache) => {
    const checkpoint = randomCheckpoint(8, shape);
    const tokenizer = ids(shape.vocab, 'words:mine');
    const teacher = await load(exportOnnx(checkpoint, { cache, tokenizer }), { student: tokenizer });
    expect(teacher.vocab).toBe(shape.vocab);
    expect(teacher.context).toBe(shape.context);
    expect(teacher.about).toMatchObject({
      tokenizer: 'file',
      cacheLayers: cache ? shape.layers : 0,
      opset: 17,
    });
    const batch = batchOf(sequences(8, shape));
    const logits = await twinLogits(checkpoint, batch);
    const wanted = logSoftmax(logits, logits.length, shape.vocab);
    const mine = await teacher.logProbs(batch);
    expect(worst(mine, wanted)).toBeLessThan(LIMIT);

    const k = 5;
    const top = await teacher.topK(batch, k);
    for (let n = 0; n < batch.tokens.length; n++) {
      const row = Array.from(mine.subarray(n * shape.vocab, (n + 1) * shape.vocab));
      const order = row.map((_, v) => v).sort((a, b) => row[b]! - row[a]! || a - b);
      expect(Array.from(top.ids.subarray(n * k, (n + 1) * k))).toEqual(order.slice(0, k));
      expect(Array.from(top.logProbs.subarray(n * k, (n + 1) * k))).toEqual(
        order.slice(0, k).map((v) => row[v]),
      );
    }
    await expect(teacher.topK(batch, shape.vocab + 1)).rejects.toThrow(/most probable/);
    await expect(teacher.logProbs(batchOf([[0, shape.vocab]]))).rejects.toThrow(/outside the vocabulary/);
    const long = new Array<number>(shape.context + 1).fill(1);
    await expect(teacher.logProbs(batchOf([long]))).rejects.toThrow(/longer than the teacher’s context/);
    await teacher.destroy();
    await expect(teacher.logProbs(batch)).rejects.toThrow(/destroyed/);
  });
});

describe('a model of others as a teacher', () => {
  const vocab = 11;
  const rows = [[3, 1, 4, 1, 5, 9, 2, 6], [10], [2, 7, 1, 8]];
  const wanted = rows.flatMap((row) => logSoftmax(oddLogits(vocab, row), row.length * vocab, vocab));

  it.each<[string, Oddity]>([
    ['without a cache', { vocab }],
    ['from ids alone', { vocab, bare: true }],
    ['with a cache', { vocab, cache: { batch: 'batch_size', past: 'past_sequence_length' } }],
    ['with other names for free sizes', { vocab, cache: { batch: 'batch', past: 'past_sequence' } }],
    [
      'with the flags of transformers.js',
      { vocab, flags: true, cache: { batch: 'batch_size', past: 'past_sequence_length' } },
    ],
  ])('is computed %s', async (_, oddity) => {
    const teacher = await odd(oddity);
    expect(teacher.about.tokenizer).toBe('given');
    expect(teacher.context).toBeNull();
    expect(worst(await teacher.logProbs(batchOf(rows)), wanted)).toBeLessThan(LIMIT);
    await teacher.destroy();
  });

  it('may give its logits in float16', async () => {
    const teacher = await odd({ vocab, half: true });
    expect(teacher.about.logits).toBe('float16');
    // Half precision has 11 bits, and the logits reach 60.
    expect(worst(await teacher.logProbs(batchOf(rows)), wanted)).toBeLessThan(60 * 2 ** -10);
    await teacher.destroy();
  });

  it('may have a padded vocabulary, whose rows beyond the tokenizer count for nothing', async () => {
    const teacher = await odd({ vocab: 64 }, 50);
    expect(teacher.about.paddedIds).toBe(14);
    const all = rows.flatMap((row) => {
      const logits = oddLogits(64, row);
      return row.flatMap((_, n) => logSoftmax(logits.slice(n * 64, n * 64 + 50), 50, 50));
    });
    expect(worst(await teacher.logProbs(batchOf(rows)), all)).toBeLessThan(LIMIT);
    await teacher.destroy();
  });

  it.each<[string, Oddity, RegExp]>([
    ['an output of another name', { vocab, output: 'scores' }, /no output logits, but scores/],
    [
      'an encoder by its output',
      { vocab, output: 'last_hidden_state' },
      /an encoder, or a model without its head/,
    ],
    [
      'an encoder by its input',
      { vocab, extra: ['token_type_ids'] },
      /it is an encoder: it takes token_type_ids/,
    ],
    [
      'a masked language model by what it does',
      { vocab, ahead: true },
      /logits change when a later token changes/,
    ],
    ['a half of an encoder–decoder', { vocab, extra: ['encoder_attention_mask'] }, /encoder–decoder/],
    ['a classifier', { vocab, pooled: true }, /a classifier/],
    [
      'an input that nobody knows',
      { vocab, extra: ['pixel_values'] },
      /nobody knows what to give to pixel_values/,
    ],
    ['a cache of unknown size', { vocab, cache: { batch: 'n', past: 'past' } }, /size of its dimension “n”/],
    ['an opset of the future', { vocab, opset: 99 }, /ONNX Runtime does not load it: .*[Oo]pset 99/],
  ])('is refused: %s', async (_, oddity, why) => {
    await expect(odd(oddity)).rejects.toThrow(why);
  });
});

describe('a teacher’s tokenizer', () => {
  const shape = SHAPES[0]!;
  const named = exportOnnx(randomCheckpoint(9, shape), { tokenizer: ids(shape.vocab, 'words:mine') });
  const bare = exportOnnx(randomCheckpoint(9, shape));

  it.each<[string, Uint8Array, Partial<TeacherOptions> & Pick<TeacherOptions, 'student'>, RegExp]>([
    ['is unknown', bare, { student: ids(13) }, /nobody knows its tokenizer/],
    ['is another than the student’s', named, { student: ids(13, 'words:other') }, /is not the student’s/],
    ['is not the one given', named, { student: ids(13), tokenizer: ids(13) }, /names another tokenizer/],
    [
      'is larger than its logits',
      bare,
      { student: ids(14), tokenizer: ids(14) },
      /logits for 13 ids; its tokenizer has 14/,
    ],
    [
      'is smaller than its logits',
      bare,
      { student: ids(12), tokenizer: ids(12) },
      /logits for 13 ids; its tokenizer has 12/,
    ],
  ])('is refused where it %s', async (_, bytes, options, why) => {
    await expect(load(bytes, options)).rejects.toThrow(why);
  });
});

describe('a file that can’t be loaded', () => {
  it('is refused by its size before it is read', () => {
    expect(() => checkTeacherSize(2 ** 30)).not.toThrow();
    expect(() => checkTeacherSize(2 ** 30 + 1)).toThrow(/1025 MiB; 1024 fit/);
  });

  const student = ids(13);

  it('is refused where its weights lie elsewhere', async () => {
    const entry = new ProtoWriter().text(1, 'location').text(2, 'model.onnx_data');
    const tensor = new ProtoWriter().int(1, 4).int(2, FLOAT).text(8, 'w').message(13, entry).int(14, 1);
    const node = new ProtoWriter().text(1, 'w').text(2, 'logits').text(4, 'Identity');
    const value = new ProtoWriter().text(1, 'logits');
    const graph = new ProtoWriter().message(1, node).message(5, tensor).message(12, value);
    const file = new ProtoWriter().int(1, 8).message(7, graph).finish();
    await expect(load(file, { student })).rejects.toThrow(/weights lie in other files \(model\.onnx_data\)/);
  });

  it('is refused where its nodes are none, or its bytes', async () => {
    const graph = new OnnxGraph();
    graph.input('input_ids', INT64, ['batch_size', 'sequence_length']);
    graph.op('NoSuchOperator', ['input_ids'], {}, 'logits');
    graph.output('logits', FLOAT, ['batch_size', 'sequence_length', 13]);
    await expect(load(graph.model('none', 17, {}), { student })).rejects.toThrow(
      /ONNX Runtime does not load it/,
    );
    const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * 167 + 13) % 251);
    await expect(load(noise, { student })).rejects.toThrow(/no ONNX model/);
    const whole = exportOnnx(randomCheckpoint(9, SHAPES[0]!), { tokenizer: student });
    await expect(load(whole.subarray(0, whole.length - 900), { student })).rejects.toThrow(/no ONNX model/);
  });
});

describe('halfToFloat', () => {
  it.each([
    [0x0000, 0],
    [0x3c00, 1],
    [0xc000, -2],
    [0x7bff, 65504],
    [0x0001, 2 ** -24],
    [0x3555, 0.333251953125],
    [0xfc00, -Infinity],
    [0x7e00, Number.NaN],
  ])('reads %i as %f', (bits, value) => {
    expect(halfToFloat(bits)).toBe(value);
  });
});
