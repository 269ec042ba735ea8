import type { Rng } from '../base/rng.ts';
import type { TrainingSequence } from '../policy/batch.ts';

/**
 * The same episode in an equal world where things have other names: every pool of names is permuted at random, and
 * each token of it replaced all through the sequence. The weights stay. With a new draw each time a sequence is shown,
 * no name says anything about what it stands for, and reading the context is all that helps.
 */
export function rename(
  { tokens, weights }: TrainingSequence,
  names: readonly (readonly number[])[],
  rng: Rng,
): TrainingSequence {
  const renamed = new Map<number, number>();
  for (const pool of names) {
    const drawn = rng.shuffle(pool);
    for (const [i, name] of pool.entries()) renamed.set(name, drawn[i]!);
  }
  return { tokens: tokens.map((token) => renamed.get(token) ?? token), weights };
}
