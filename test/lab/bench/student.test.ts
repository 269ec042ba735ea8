import { expect, it } from 'vitest';
import { commonLength, MICRO, syntheticBatch } from '../../../src/lab/bench/student.ts';
import { pack } from '../../../src/policy/batch.ts';

it('gives every library whole sequences of one length with every position trained', () => {
  const batch = syntheticBatch({ shape: MICRO, tokens: 512 });
  expect(batch.tokens).toHaveLength(512);
  expect(batch.weights.every((weight) => weight === 1)).toBe(true);
  expect(commonLength(batch)).toBe(64);
  expect(new Set(batch.starts).size).toBe(8);
  expect(() => syntheticBatch({ shape: MICRO, tokens: 100 })).toThrow(/whole sequences of 64/);
});

it('finds the common length of a batch, or that there is none', () => {
  const of = (...lengths: number[]) =>
    commonLength(pack(lengths.map((n) => ({ tokens: Array(n).fill(1), weights: Array(n).fill(1) }))));
  expect(of(7)).toBe(7);
  expect(of(3, 3, 3)).toBe(3);
  expect(of(3, 3, 2)).toBe(8);
  expect(of(2, 4, 2)).toBe(8);
  expect(of(4, 2, 2)).toBe(8);
});
