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

/** Sequences as long as those of `desk` (40 to 79 tokens), 40% of their tokens trained; exactly `tokens` positions. */
export function syntheticBatch({ shape, tokens }: Student): PackedBatch {
  const rng = new Rng('bench');
  const sequences = [];
  for (let used = 0; used < tokens; ) {
    const length = Math.min(tokens - used, shape.context, 40 + rng.int(40));
    used += length;
    sequences.push({
      tokens: Array.from({ length }, () => rng.int(shape.vocab)),
      weights: Array.from({ length }, () => (rng.chance(0.4) ? 1 : 0)),
    });
  }
  return pack(sequences);
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
