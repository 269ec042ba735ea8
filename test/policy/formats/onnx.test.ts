import * as ort from 'onnxruntime-web';
import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { Checkpoint } from '../../../src/policy/engine.ts';
import { exportOnnx } from '../../../src/policy/onnx/export.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { randomCheckpoint, shape } from './checkpoints.ts';

ort.env.wasm.numThreads = 1;

const LIMIT = 1e-4;
const lengths = [7, 1, 20, 12];

function sequences(seed: number): number[][] {
  const rng = new Rng(seed);
  return lengths.map((length) => Array.from({ length }, () => rng.int(shape.vocab)));
}

/** Logits of one sequence on the twins, [length, V]. */
async function twinLogits(checkpoint: Checkpoint, tokens: number[]): Promise<Float32Array> {
  const engine = createCpuEngine(checkpoint.shape);
  engine.load(checkpoint);
  return engine.logits(pack([{ tokens, weights: tokens.map(() => 0) }]));
}

const session = (bytes: Uint8Array) => ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
const ids = (rows: number[][]) =>
  new ort.Tensor('int64', BigInt64Array.from(rows.flat(), BigInt), [
    rows.length,
    (rows[0] as number[]).length,
  ]);
const floats = (tensor: ort.Tensor | undefined) => tensor?.data as Float32Array;

/** Largest difference; NaN where an entry is missing or is none. */
function worst(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.NaN;
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - (b[i] as number))), 0);
}

describe('the exported model', () => {
  it.each([1, 2])('gives the twin’s logits on ragged lengths padded to one batch, seed %d', async (seed) => {
    const checkpoint = randomCheckpoint(seed);
    const model = await session(exportOnnx(checkpoint));
    expect(model.inputNames).toEqual(['input_ids']);
    expect(model.outputNames).toEqual(['logits']);
    const rows = sequences(seed);
    const padded = rows.map((row) => [...row, ...new Array<number>(20 - row.length).fill(3)]);
    const { logits } = await model.run({ input_ids: ids(padded) });
    expect(logits?.dims).toEqual([4, 20, shape.vocab]);
    for (const [r, row] of rows.entries()) {
      const mine = floats(logits).slice(r * 20 * 13, (r * 20 + row.length) * 13);
      const wanted = await twinLogits(checkpoint, row);
      expect(worst(mine, wanted)).toBeLessThan(LIMIT);
      expect(Math.max(...wanted)).toBeGreaterThan(1);
    }
    await model.release();
  });

  it('takes any sequence length without padding', async () => {
    const checkpoint = randomCheckpoint(3);
    const model = await session(exportOnnx(checkpoint));
    for (const row of sequences(3)) {
      const { logits } = await model.run({ input_ids: ids([row]) });
      expect(worst(floats(logits), await twinLogits(checkpoint, row))).toBeLessThan(LIMIT);
    }
    await model.release();
  });

  it('continues from its cache, one token or several at a time, from an empty past', async () => {
    const checkpoint = randomCheckpoint(4);
    const model = await session(exportOnnx(checkpoint, { cache: true }));
    const tokens = sequences(4)[2] as number[];
    const wanted = await twinLogits(checkpoint, tokens);
    const empty = () => new ort.Tensor('float32', new Float32Array(0), [1, shape.heads, 0, 8]);
    let past: Record<string, ort.Tensor> = {};
    for (let l = 0; l < shape.layers; l++)
      past = { ...past, [`past_key_${l}`]: empty(), [`past_value_${l}`]: empty() };
    let at = 0;
    for (const length of [5, 1, 1, 6, 7]) {
      const out = await model.run({ input_ids: ids([tokens.slice(at, at + length)]), ...past });
      const mine = wanted.slice(at * 13, (at + length) * 13);
      expect(worst(floats(out.logits), mine)).toBeLessThan(LIMIT);
      at += length;
      expect(out.present_key_0?.dims).toEqual([1, shape.heads, at, 8]);
      for (const name of Object.keys(past)) past[name] = out[name.replace('past', 'present')] as ort.Tensor;
    }
    expect(at).toBe(20);
    await model.release();
  });

  it('refuses a sequence longer than the context', async () => {
    const model = await session(exportOnnx(randomCheckpoint(5)));
    await expect(model.run({ input_ids: ids([new Array<number>(21).fill(1)]) })).rejects.toThrow();
    await model.release();
  });

  it('carries shape and step, and is not made from a checkpoint that is not finite', () => {
    const checkpoint = randomCheckpoint(6);
    const text = new TextDecoder('latin1').decode(exportOnnx(checkpoint));
    expect(text).toContain(JSON.stringify(shape));
    checkpoint.parameters[0] = Number.NaN;
    expect(() => exportOnnx(checkpoint)).toThrow(/entry 0 is NaN/);
  });
});
