import { invariant } from '../../base/errors.ts';
import { Rng } from '../../base/rng.ts';
import { ADAMW } from '../../learn/sft.ts';
import { pack } from '../../policy/batch.ts';
import type { PackedBatch, PolicyShape, StepOptions } from '../../policy/engine.ts';

/** What is measured: a student and the tokens of its training step. */
export interface Student {
  shape: PolicyShape;
  /** N, all positions of the batch. */
  tokens: number;
}

/** The optimiser's numbers of every step, ours and theirs. */
export const STEP: StepOptions = { ...ADAMW, learningRate: 1e-3 };

/** The student of the micro preset. */
export const MICRO: PolicyShape = {
  vocab: 146,
  width: 64,
  layers: 2,
  heads: 4,
  hidden: 256,
  context: 128,
};

/** A student of another width, with heads of 32 and four hidden units a column. */
export const ofWidth = (width: number): PolicyShape => ({
  ...MICRO,
  width,
  heads: width / 32,
  hidden: 4 * width,
});

/** Short name of a student: "width 64, 512 tokens". */
export const nameOf = ({ shape, tokens }: Student): string => `width ${shape.width}, ${tokens} tokens`;

/** Length of every sequence in a training step: about that of an episode in `desk`. */
const LENGTH = 64;

/**
 * Sequences of one length, every position trained. Ours would gain by ragged sequences and by positions that are not
 * trained, which it leaves out; other libraries take rectangular batches best, and the comparison gives them one.
 */
export function syntheticBatch({ shape, tokens }: Student): PackedBatch {
  const rng = new Rng('bench');
  const length = Math.min(LENGTH, shape.context, tokens);
  invariant(tokens % length === 0, `${tokens} tokens are whole sequences of ${length}`);
  const batch = pack(
    Array.from({ length: tokens / length }, () => ({
      tokens: Array.from({ length }, () => rng.int(shape.vocab)),
      weights: Array.from({ length }, () => 1),
    })),
  );
  // The last position of a sequence has no token after it; here it too is to predict one.
  for (let i = length - 1; i < tokens; i += length) {
    batch.targets[i] = rng.int(shape.vocab);
    batch.weights[i] = 1;
  }
  return batch;
}

/** The length that all sequences of a batch have; N where they differ. */
export function commonLength({ starts }: PackedBatch): number {
  const n = starts.length;
  const second = starts.findIndex((start) => start > 0);
  const length = second < 0 ? n : second;
  const even = n % length === 0 && starts.every((start, i) => start === i - (i % length));
  return even ? length : n;
}

/** A turn of many rollouts: what each is forced to read, and how many tokens it then samples. */
export interface TurnLoad {
  prompts: number[][];
  limit: number;
}

/** `rollouts` prompts of `length` tokens. */
export function turnLoad(
  shape: PolicyShape,
  { rollouts, length, limit }: { rollouts: number; length: number; limit: number },
): TurnLoad {
  const rng = new Rng('prompts');
  const prompts = Array.from({ length: rollouts }, () => Array.from({ length }, () => rng.int(shape.vocab)));
  return { prompts, limit };
}
