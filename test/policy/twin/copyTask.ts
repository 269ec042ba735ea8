import type { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { PackedBatch, PolicyShape, StepOptions } from '../../../src/policy/engine.ts';

/** A small policy: vocabulary 0 … 9 and the separator 10. */
export const smallShape: PolicyShape = { vocab: 11, width: 32, layers: 2, heads: 2, hidden: 64, context: 16 };

export const stepOptions: StepOptions = {
  learningRate: 3e-3,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clip: 1,
};

/** Sequences “w 10 w” of random words of 3 to 6 digits; the copy is trained, its words are drawn afresh. */
export function copyBatch(rng: Rng, sequences: number): PackedBatch {
  return pack(
    Array.from({ length: sequences }, () => {
      const word = Array.from({ length: 3 + rng.int(4) }, () => rng.int(10));
      const tokens = [...word, 10, ...word];
      return { tokens, weights: tokens.map((_, i) => (i >= word.length ? 1 : 0)) };
    }),
  );
}
