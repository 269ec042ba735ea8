import { expect, it } from 'vitest';
import { pack } from '../../src/policy/batch.ts';
import { stepFlops } from '../../src/policy/flops.ts';

it('counts the operations of a step product by product', () => {
  const shape = { vocab: 10, width: 8, layers: 1, heads: 2, hidden: 32, context: 8 };
  const batch = pack([{ tokens: [1, 2, 3], weights: [0, 1, 0] }]);
  // 3 rows · qkv 3D², one trained row · (out D² + up DF + down DF), each · 2; one logit row, 6 attended pairs (scores and
  // values); all thrice.
  const products = 2 * (3 * 3 * 64 + 64 + 2 * 8 * 32);
  expect(stepFlops(shape, batch)).toBe(3 * (products + 2 * 10 * 8 + 4 * 6 * 8));
});

it('grows with the square of a sequence only in attention', () => {
  const shape = { vocab: 10, width: 8, layers: 2, heads: 2, hidden: 32, context: 64 };
  const flops = (n: number) =>
    stepFlops(shape, pack([{ tokens: new Array(n).fill(1), weights: new Array(n).fill(0) }]));
  // Nothing is trained here: behind the attention of the second layer nobody looks.
  const perToken = 3 * 2 * (2 * 3 * 64 + 64 + 2 * 8 * 32);
  const pairs = (n: number) => (n * (n + 1)) / 2;
  expect(flops(40) - flops(20)).toBe(20 * perToken + 3 * 4 * 8 * 2 * (pairs(40) - pairs(20)));
});
