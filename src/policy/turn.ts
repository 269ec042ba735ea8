import { LabError } from '../base/errors.ts';
import { checkToken } from './batch.ts';
import type { PolicyShape, SampledTurn, TurnOptions } from './engine.ts';
import { checkTruncation } from './truncation.ts';

/**
 * Checks a sampler's turn before anything is computed: one input a rollout, known tokens, a truncation that can be drawn
 * from, something to continue from, and room in the context for all that may be sampled.
 * @param held tokens that each rollout holds already.
 * @throws LabError that names the input or option.
 */
export function checkTurn(
  inputs: readonly (readonly number[] | null)[],
  options: TurnOptions,
  held: readonly number[],
  { vocab, context }: PolicyShape,
): void {
  if (inputs.length !== held.length)
    refuse(
      `${inputs.length} inputs for ${held.length} rollouts`,
      'inputs',
      'give one a rollout, null to leave one alone',
    );
  const { limit } = options;
  if (!Number.isInteger(limit) || limit < 0)
    refuse(`the limit is ${limit}`, 'options.limit', 'give a whole number ≥ 0');
  checkTruncation(options, vocab);
  for (const [rollout, input] of inputs.entries()) {
    if (input === null) continue;
    const where = `inputs[${rollout}]`;
    const before = held[rollout]!;
    if (before + input.length === 0)
      refuse('nothing to continue from', where, 'start a rollout with at least one token');
    const end = before + input.length + limit;
    if (end > context)
      refuse(
        `the rollout could reach ${end} tokens (${before} held, ${input.length} new, ${limit} to sample); the context is ${context}`,
        where,
        'lower the limit, shorten the input or end the rollout',
      );
    for (const [i, token] of input.entries()) checkToken(token, vocab, `${where}[${i}]`);
  }
}

/**
 * Checks what was sampled: where the logits are no numbers, neither are the log-probabilities.
 * @throws LabError on the first of them.
 */
export function checkSampled(turns: readonly SampledTurn[]): void {
  for (const [rollout, { logProbs }] of turns.entries())
    for (const logProb of logProbs)
      if (!Number.isFinite(logProb))
        refuse(
          `a sampled token has log-probability ${logProb}: the policy's weights are no numbers any more`,
          `rollout ${rollout}`,
          'load a checkpoint from before the training diverged',
        );
}

function refuse(what: string, where: string, remedy: string): never {
  throw new LabError(what, { where, remedy });
}
