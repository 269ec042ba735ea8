import { LabError } from '../base/errors.ts';
import type { PackedBatch, Truncation } from './engine.ts';
import { checkGrammar, stateCount } from './grammar.ts';

/**
 * Checks a truncation before it reaches a device.
 * @throws LabError on a temperature that is not finite and ≥ 0, a topP outside (0, 1] or a grammar that `checkGrammar`
 * refuses.
 */
export function checkTruncation({ temperature, topP = 1, grammar }: Truncation, vocab: number): void {
  if (!(temperature >= 0 && temperature < Infinity))
    refuse(`the temperature is ${temperature}`, 'temperature', 'give a finite number ≥ 0');
  if (!(topP > 0 && topP <= 1)) refuse(`topP is ${topP}`, 'topP', 'give a number above 0 and at most 1');
  if (grammar) checkGrammar(grammar, vocab);
}

/**
 * Checks what `PolicyEngine.evaluate` is given besides its batch.
 * @throws LabError where `checkTruncation` does, where a grammar comes without states or states without a grammar, or
 * where a state of a position with weight is none of the grammar's.
 */
export function checkEvaluation(
  batch: PackedBatch,
  truncation: Truncation | undefined,
  states: Int32Array | undefined,
  vocab: number,
): void {
  if (truncation) checkTruncation(truncation, vocab);
  const grammar = truncation?.grammar;
  if (!grammar && !states) return;
  if (!grammar || !states)
    refuse(
      grammar ? 'a grammar without states' : 'states without a grammar',
      'states',
      'give both or neither; `grammarStates` computes the states',
    );
  if (states.length !== batch.tokens.length)
    refuse(
      `${states.length} states for ${batch.tokens.length} positions`,
      'states',
      'give one for each position',
    );
  const count = stateCount(grammar);
  for (const [i, state] of states.entries())
    if (batch.weights[i] !== 0 && (state < 0 || state >= count))
      refuse(
        `state ${state} where there are ${count}`,
        `states[${i}]`,
        'give the state before the target of that position',
      );
}

function refuse(what: string, where: string, remedy: string): never {
  throw new LabError(what, { where: where.startsWith('states') ? where : `truncation.${where}`, remedy });
}
