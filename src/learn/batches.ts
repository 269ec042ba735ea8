import { LabError } from '../base/errors.ts';
import type { Rng } from '../base/rng.ts';
import type { TrainingSequence } from '../policy/batch.ts';

/**
 * Endless batches of sequence indices: each epoch is a fresh random order, cut where the next sequence would pass
 * `tokens` positions or the batch holds `sequences`. A pure function of `rng`, so a resumed run skips to its step and
 * goes on with the same data.
 * @throws LabError where there is no sequence, or one alone is longer than `tokens`.
 */
export function* batches(
  data: readonly TrainingSequence[],
  limit: { tokens: number; sequences: number },
  rng: Rng,
): Generator<number[], never> {
  if (data.length === 0)
    throw new LabError('there is nothing to train on', {
      where: 'dataset',
      remedy: 'make more tasks: raise the number of walks or lower the chain length',
    });
  const longest = data.reduce((most, sequence) => Math.max(most, sequence.tokens.length), 0);
  if (longest > limit.tokens)
    throw new LabError(`a sequence of ${longest} tokens does not fit a batch of ${limit.tokens}`, {
      where: 'dataset',
      remedy: 'raise the tokens a step',
    });
  const indices = data.map((_, i) => i);
  let batch: number[] = [];
  let used = 0;
  for (let epoch = 0; ; epoch++) {
    for (const i of rng.fork(epoch).shuffle(indices)) {
      const length = data[i]!.tokens.length;
      if (used + length > limit.tokens || batch.length === limit.sequences) {
        yield batch;
        batch = [];
        used = 0;
      }
      batch.push(i);
      used += length;
    }
  }
}
