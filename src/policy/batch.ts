import { LabError } from '../base/errors.ts';
import type { PackedBatch, PolicyShape, StepOptions } from './engine.ts';

const NOTHING = 'every weight is 0: there is nothing to train';

/** One sequence before packing. `weights[i]` is the weight of predicting `tokens[i + 1]` from what stands up to i. */
export interface TrainingSequence {
  tokens: readonly number[];
  weights: readonly number[];
}

/**
 * Lays sequences one after another without padding. The target of a position is the next token of the same sequence;
 * the last position of a sequence has no target and gets weight 0. Empty sequences take no room.
 * @throws LabError where a sequence has not exactly one weight a token.
 */
export function pack(sequences: readonly TrainingSequence[]): PackedBatch {
  const total = sequences.reduce((sum, s) => sum + s.tokens.length, 0);
  const batch: PackedBatch = {
    tokens: new Int32Array(total),
    starts: new Int32Array(total),
    targets: new Int32Array(total),
    weights: new Float32Array(total),
  };
  let start = 0;
  for (const [index, { tokens, weights }] of sequences.entries()) {
    if (weights.length !== tokens.length)
      throw new LabError(`${tokens.length} tokens but ${weights.length} weights`, {
        where: `sequence ${index}`,
        remedy: 'give one weight a token',
      });
    batch.tokens.set(tokens, start);
    batch.starts.fill(start, start, start + tokens.length);
    batch.targets.set(tokens.slice(1), start);
    batch.weights.set(weights.slice(0, -1), start);
    start += tokens.length;
  }
  return batch;
}

/**
 * Checks a batch before it reaches a device: at most `capacity` positions, ids inside the vocabulary, sequences that lie
 * one after another and fit the context, weights finite and ≥ 0.
 * @param options.untrained allow a batch in which every weight is 0 (asked for logits, not trained).
 * @throws LabError that names the array and the position.
 */
export function checkBatch(
  batch: PackedBatch,
  shape: PolicyShape,
  capacity: number,
  options: { untrained?: boolean } = {},
): void {
  const { tokens, starts, targets, weights } = batch;
  const n = tokens.length;
  if (n === 0) refuse('the batch is empty', 'tokens', 'give at least one position');
  if (n > capacity)
    refuse(`${n} positions where ${capacity} fit`, 'tokens', 'send fewer sequences or raise the capacity');
  for (const [name, array] of Object.entries({ starts, targets, weights }))
    if (array.length !== n)
      refuse(`${array.length} entries for ${n} tokens`, name, 'make all four arrays of one length');
  let any = false;
  for (let i = 0; i < n; i++) {
    checkToken(tokens[i]!, shape.vocab, `tokens[${i}]`);
    checkStart(starts, i, shape.context);
    const w = weights[i]!;
    if (!(w >= 0 && w < Infinity))
      refuse(`the weight is ${w}`, `weights[${i}]`, 'weights are finite and at least 0');
    if (w === 0) continue;
    any = true;
    checkToken(targets[i]!, shape.vocab, `targets[${i}]`);
  }
  if (!any && !options.untrained) refuse(NOTHING, 'weights', 'give some position a weight > 0');
}

/**
 * Checks the micro-batches of one step, each as `checkBatch` does, but of which some may train nothing.
 * @returns all of them, and Σ w over all.
 * @throws LabError where there is none, one is malformed, or every weight is 0.
 */
export function checkStepBatches(
  batches: PackedBatch | readonly PackedBatch[],
  shape: PolicyShape,
  capacity: number,
): { parts: readonly PackedBatch[]; total: number } {
  if ('tokens' in batches) {
    checkBatch(batches, shape, capacity);
    return { parts: [batches], total: totalWeight(batches) };
  }
  if (batches.length === 0)
    throw new LabError('there is no micro-batch', { where: 'batches', remedy: 'give at least one' });
  for (const [i, batch] of batches.entries())
    try {
      checkBatch(batch, shape, capacity, { untrained: true });
    } catch (cause) {
      if (!(cause instanceof LabError)) throw cause;
      const where = cause.where.replace(/^batch/, `batches[${i}]`);
      throw new LabError(cause.message, { where, remedy: cause.remedy, cause });
    }
  const total = batches.reduce((sum, batch) => sum + totalWeight(batch), 0);
  if (total === 0) refuse(NOTHING, 'weights', 'give some position of some micro-batch a weight > 0');
  return { parts: batches, total };
}

/** Σ w of a batch. */
export const totalWeight = ({ weights }: PackedBatch): number => weights.reduce((sum, w) => sum + w, 0);

/** How many positions are trained. */
export const trainedCount = ({ weights }: PackedBatch): number =>
  weights.reduce((count, w) => (w > 0 ? count + 1 : count), 0);

/**
 * Checks one token id.
 * @throws LabError where it is no whole number from 0 to vocab − 1.
 */
export function checkToken(id: number, vocab: number, where: string): void {
  if (!Number.isInteger(id) || id < 0 || id >= vocab)
    refuse(`token id ${id} is outside the vocabulary of ${vocab}`, where, `use ids from 0 to ${vocab - 1}`);
}

/**
 * Checks the hyperparameters of a step.
 * @throws LabError on a rate or decay that is not finite and ≥ 0, a β outside [0, 1), an ε or clip not above 0
 * (clip may be Infinity: no clipping).
 */
export function checkStep(options: StepOptions): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
  const need = (ok: boolean, field: keyof StepOptions, remedy: string) => {
    if (!ok) throw new LabError(`${field} is ${options[field]}`, { where: `options.${field}`, remedy });
  };
  need(learningRate >= 0 && learningRate < Infinity, 'learningRate', 'give a finite number ≥ 0');
  need(weightDecay >= 0 && weightDecay < Infinity, 'weightDecay', 'give a finite number ≥ 0');
  need(beta1 >= 0 && beta1 < 1, 'beta1', 'give a number from 0 to below 1');
  need(beta2 >= 0 && beta2 < 1, 'beta2', 'give a number from 0 to below 1');
  need(epsilon > 0 && epsilon < Infinity, 'epsilon', 'give a finite number > 0');
  need(clip > 0, 'clip', 'give a number > 0, Infinity for no clipping');
}

/** A start is either the position itself (a new sequence) or the start of the position before. */
function checkStart(starts: Int32Array, i: number, context: number): void {
  const start = starts[i]!;
  const where = `starts[${i}]`;
  if (start !== i && (i === 0 || start !== starts[i - 1]))
    refuse(
      `start ${start} neither opens a sequence (${i}) nor continues the one before (${starts[i - 1] ?? 'none'})`,
      where,
      'lay sequences one after another, each position carrying the index of its first',
    );
  if (i - start >= context)
    refuse(`the sequence is longer than the context of ${context}`, where, 'cut it or raise the context');
}

function refuse(what: string, where: string, remedy: string): never {
  throw new LabError(what, { where: `batch.${where}`, remedy });
}
