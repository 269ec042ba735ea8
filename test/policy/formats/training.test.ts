import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { readCheckpoint } from '../../../src/lab/checkpointFile.ts';
import { methods } from '../../../src/methods/index.ts';
import { readSafetensors, writeSafetensors } from '../../../src/policy/safetensors.ts';
import { checkTraining, type TrainingState } from '../../../src/policy/training.ts';
import { randomCheckpoint, shape } from './checkpoints.ts';
import { VERSION_1, VERSION_1_SHAPE } from './version1.ts';

const training: TrainingState = {
  cursor: { epoch: 3, place: 17 },
  streams: { '9/sft/batches': 3, '9/sft/names': 1234 },
  run: {
    method: 'toolspace',
    preset: 'micro',
    config: { steps: 200, masking: 'agent', learningRate: 0.003 },
    arms: ['untrained', 'trained'],
    seed: 9,
    arm: 'trained',
    taskSet: '00ff00ff00ff00',
  },
  vocabulary: 'abcdefabcdef00',
};

/** What the safetensors library demands of a file, checked by its README and nothing of ours. */
function parseStrictly(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  expect(length).toBeLessThanOrEqual(100_000_000);
  expect(bytes[8]).toBe('{'.charCodeAt(0));
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + length));
  const { __metadata__: metadata, ...tensors } = JSON.parse(text) as Record<string, JsonObject>;
  for (const value of Object.values(metadata!)) expect(typeof value).toBe('string');
  // JSON.parse forgives a key that stands twice; the library does not.
  for (const name of Object.keys(tensors)) expect(text.split(`${JSON.stringify(name)}:`)).toHaveLength(2);
  const values: Record<string, { shape: number[]; data: Float32Array }> = {};
  let end = 0;
  const byPlace = Object.entries(tensors).map(([name, entry]) => {
    const {
      dtype,
      shape: dims,
      data_offsets: offsets,
    } = entry as {
      dtype: string;
      shape: number[];
      data_offsets: [number, number];
    };
    return { name, dtype, dims, begin: offsets[0], end: offsets[1] };
  });
  byPlace.sort((a, b) => a.begin - b.begin);
  for (const { name, dtype, dims, begin, end: after } of byPlace) {
    expect(dtype).toBe('F32');
    expect(begin).toBe(end);
    expect(after - begin).toBe(4 * dims.reduce((a, b) => a * b, 1));
    end = after;
    const data = Float32Array.from({ length: (after - begin) / 4 }, (_, i) =>
      view.getFloat32(8 + length + begin + 4 * i, true),
    );
    values[name] = { shape: dims, data };
  }
  expect(8 + length + end).toBe(bytes.length);
  expect((8 + length) % 8).toBe(0);
  return { metadata: metadata as Record<string, string>, values };
}

describe('a checkpoint of training', () => {
  it('comes back whole: policy, moments, place in the data, streams, run, vocabulary', () => {
    for (const mlp of [undefined, 'gelu', 'swiglu'] as const) {
      const of = mlp ? { ...shape, mlp } : shape;
      const checkpoint = { ...randomCheckpoint(1, of), training };
      expect(readSafetensors(writeSafetensors(checkpoint))).toEqual(checkpoint);
    }
    const { run: _, vocabulary: __, ...least } = training;
    const checkpoint = { ...randomCheckpoint(2), training: least };
    expect(readSafetensors(writeSafetensors(checkpoint))).toEqual(checkpoint);
  });

  it('keeps the rules of the format, with the moments under names of their own', () => {
    const checkpoint = { ...randomCheckpoint(3), training };
    const { metadata, values } = parseStrictly(writeSafetensors(checkpoint, { note: 'ü' }));
    expect(Object.keys(metadata).sort()).toEqual(
      ['cursor', 'format', 'note', 'run', 'shape', 'step', 'streams', 'vocabulary'].sort(),
    );
    expect(JSON.parse(metadata.cursor!)).toEqual(training.cursor);
    expect(values['0.qkv']!.shape).toEqual([48, 16]);
    expect(values['optimizer.exp_avg.embed']!.data).toEqual(checkpoint.moment1.subarray(0, 13 * 16));
    expect(values['optimizer.exp_avg_sq.embed']!.data).toEqual(checkpoint.moment2.subarray(0, 13 * 16));
  });

  it('is not written with a state that could not be read', () => {
    const broken = { ...randomCheckpoint(4), training: { ...training, cursor: { epoch: -1, place: 0 } } };
    expect(() => writeSafetensors(broken)).toThrow(/no place in the data/);
  });

  const wrong: [string, JsonObject, RegExp][] = [
    ['no cursor', { streams: {} }, /cursor/],
    ['half a place', { cursor: { epoch: 1, place: 0.5 } }, /cursor/],
    ['a counter below 0', { streams: { a: -1 } }, /streams/],
    ['a vocabulary that is a number', { vocabulary: 3 }, /vocabulary/],
    [
      'a run of arms without its own',
      { run: { ...training.run, arm: 'other' } as unknown as Json },
      /run\.arms/,
    ],
    [
      'a run with a list in its settings',
      { run: { ...training.run, config: { a: [] } } as unknown as Json },
      /run\.config/,
    ],
    ['a run without a seed', { run: { ...training.run, seed: '9' } as unknown as Json }, /seed/],
  ];
  it.each(wrong)('refuses %s', (name, damage, message) => {
    const state = { ...(training as unknown as JsonObject), ...damage };
    if (name === 'no cursor') delete state.cursor;
    let told = '';
    try {
      checkTraining(state);
    } catch (error) {
      expect(error).toBeInstanceOf(LabError);
      told = String(error);
    }
    expect(told).toMatch(message);
  });

  it('refuses or reads any state, and never breaks', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (state) => {
        try {
          checkTraining(state as Json);
        } catch (error) {
          expect(error).toBeInstanceOf(LabError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('versions of the format', () => {
  const old = Uint8Array.from(Buffer.from(VERSION_1, 'base64'));

  it('reads version 1, which held no training state', () => {
    const { training: none, ...checkpoint } = readSafetensors(old);
    expect(none).toBeUndefined();
    expect(checkpoint).toEqual({ ...randomCheckpoint(77, VERSION_1_SHAPE), step: 25 });
    // Written again it is of today's version and says the same.
    expect(readSafetensors(writeSafetensors(checkpoint))).toEqual(checkpoint);
  });

  it('refuses a newer one with a sentence', () => {
    const text = new TextDecoder('latin1').decode(old).replace('lab-policy-1', 'lab-policy-3');
    const newer = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    // TextDecoder's latin1 is windows-1252, so the bytes are put back where they were.
    for (let i = 0; i < newer.length; i++) if (old[i]! > 127) newer[i] = old[i]!;
    expect(() => readSafetensors(newer)).toThrow(
      /a newer lab wrote this file \(format 3; this one reads up to 2\)/,
    );
  });

  it('says that a file without its run cannot go on anywhere', () => {
    expect(() => readCheckpoint(old, methods)).toThrow(/does not say which run/);
  });
});
