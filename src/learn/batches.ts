import { LabError } from '../base/errors.ts';
import type { Rng } from '../base/rng.ts';
import type { TrainingSequence } from '../policy/batch.ts';
import type { DataCursor } from '../policy/training.ts';

/** Indices of the sequences of a batch, and where the next one begins. */
export interface Batch {
  indices: number[];
  next: DataCursor;
}

/** The first batch of all. */
export const START: Readonly<DataCursor> = { epoch: 0, place: 0 };

/**
 * Endless batches of sequence indices: each epoch is a fresh random order, cut where the next sequence would pass
 * `tokens` positions or the batch holds `sequences`. A pure function of `rng`, so that a run goes on from any `next`
 * with the same data, without drawing what came before.
 * @throws LabError where there is no sequence, one alone is longer than `tokens`, or `from` lies outside the data.
 */
export function* batches(
  data: readonly TrainingSequence[],
  limit: { tokens: number; sequences: number },
  rng: Rng,
  from: DataCursor = START,
): Generator<Batch, never> {
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
  if (from.place >= data.length)
    throw new LabError(`training stood at sequence ${from.place} of ${data.length}`, {
      where: 'cursor',
      remedy: 'go on with the data that the checkpoint was trained on',
    });
  const all = data.map((_, i) => i);
  let indices: number[] = [];
  let used = 0;
  let { place } = from;
  for (let epoch = from.epoch; ; epoch++) {
    const order = rng.fork(epoch).shuffle(all);
    for (; place < order.length; place++) {
      const i = order[place]!;
      const length = data[i]!.tokens.length;
      if (used + length > limit.tokens || indices.length === limit.sequences) {
        yield { indices, next: { epoch, place } };
        indices = [];
        used = 0;
      }
      indices.push(i);
      used += length;
    }
    place = 0;
  }
}
