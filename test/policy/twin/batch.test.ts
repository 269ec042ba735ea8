import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { checkBatch, pack } from '../../../src/policy/batch.ts';
import { smallShape } from './copyTask.ts';

const good = () =>
  pack([
    { tokens: [1, 2, 3], weights: [0, 1, 1] },
    { tokens: [], weights: [] },
    { tokens: [4, 5], weights: [0.5, 1] },
  ]);

describe('pack', () => {
  it('shifts targets inside the sequence and never trains the last position', () => {
    const batch = good();
    expect([...batch.tokens]).toEqual([1, 2, 3, 4, 5]);
    expect([...batch.starts]).toEqual([0, 0, 0, 3, 3]);
    expect([...batch.targets]).toEqual([2, 3, 0, 5, 0]);
    expect([...batch.weights]).toEqual([0, 1, 0, 0.5, 0]);
  });

  it('makes batches that pass the check', () => {
    const token = fc.integer({ min: 0, max: smallShape.vocab - 1 });
    const sequence = fc.array(fc.tuple(token, fc.float({ min: 0, max: 4, noNaN: true })), {
      minLength: 1,
      maxLength: smallShape.context,
    });
    fc.assert(
      fc.property(fc.array(sequence, { minLength: 1, maxLength: 6 }), (sequences) => {
        const batch = pack(
          sequences.map((s) => ({ tokens: s.map(([t]) => t), weights: s.map(([, w]) => w) })),
        );
        checkBatch(batch, smallShape, 200, { untrained: true });
        const trained = sequences.some((s) => s.slice(0, -1).some(([, w]) => w > 0));
        if (trained) checkBatch(batch, smallShape, 200);
        else expect(() => checkBatch(batch, smallShape, 200)).toThrow(LabError);
      }),
    );
  });

  it('refuses weights that do not match the tokens', () => {
    expect(() => pack([{ tokens: [1, 2], weights: [1] }])).toThrow(/2 tokens but 1 weights/);
  });
});

describe('checkBatch', () => {
  const refusals: [string, (b: ReturnType<typeof good>) => void, string][] = [
    ['a negative token', (b) => b.tokens.fill(-1, 2, 3), 'batch.tokens[2]'],
    ['a token past the vocabulary', (b) => b.tokens.fill(11, 4), 'batch.tokens[4]'],
    ['a trained target past the vocabulary', (b) => b.targets.fill(11, 1, 2), 'batch.targets[1]'],
    ['a start that goes back', (b) => b.starts.fill(0, 4), 'batch.starts[4]'],
    ['a start past its position', (b) => b.starts.fill(4, 3, 4), 'batch.starts[3]'],
    ['a start inside the sequence before', (b) => b.starts.fill(1, 2, 3), 'batch.starts[2]'],
    ['a first start other than 0', (b) => b.starts.fill(1, 0, 1), 'batch.starts[0]'],
    ['a negative start', (b) => b.starts.fill(-1, 0, 1), 'batch.starts[0]'],
    ['a negative weight', (b) => b.weights.fill(-1, 0, 1), 'batch.weights[0]'],
    ['a weight that is no number', (b) => b.weights.fill(Number.NaN, 0, 1), 'batch.weights[0]'],
    ['an endless weight', (b) => b.weights.fill(Infinity, 0, 1), 'batch.weights[0]'],
    ['weights that are all 0', (b) => b.weights.fill(0), 'batch.weights'],
  ];
  it.each(refusals)('refuses %s', (_, damage, where) => {
    const batch = good();
    checkBatch(batch, smallShape, 5);
    damage(batch);
    expect(() => checkBatch(batch, smallShape, 5)).toThrow(
      expect.objectContaining({ name: 'LabError', where }),
    );
  });

  it('refuses an empty batch, arrays of different lengths, too many positions, a sequence over the context', () => {
    expect(() => checkBatch(pack([]), smallShape, 5)).toThrow(/empty/);
    expect(() => checkBatch({ ...good(), targets: new Int32Array(4) }, smallShape, 5)).toThrow(
      expect.objectContaining({ where: 'batch.targets' }),
    );
    expect(() => checkBatch(good(), smallShape, 4)).toThrow(/4 fit/);
    expect(() => checkBatch(good(), { ...smallShape, context: 2 }, 5)).toThrow(
      expect.objectContaining({ where: 'batch.starts[2]' }),
    );
  });

  it('ignores the target where the weight is 0', () => {
    const batch = good();
    batch.targets[0] = 99;
    checkBatch(batch, smallShape, 5);
  });
});
