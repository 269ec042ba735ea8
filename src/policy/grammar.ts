import { LabError } from '../base/errors.ts';
import type { Grammar } from './engine.ts';

/** Most cells of `next`: 16 MiB on the device. */
const MOST_CELLS = 1 << 22;

/** How many states a grammar has. */
export const stateCount = ({ next, classCount }: Grammar): number => next.length / classCount;

/** True where token v may stand in state s. */
export const allows = ({ next, classCount, classes }: Grammar, state: number, token: number): boolean =>
  next[state * classCount + classes[token]!]! >= 0;

/**
 * Checks that a grammar is one for this vocabulary and that no turn can get stuck in it.
 * @throws LabError on arrays of the wrong size, a class or state out of range, more than 2²² cells, or a state that can be
 * reached from state 0 and allows no token.
 */
export function checkGrammar(grammar: Grammar, vocab: number): void {
  const { classes, classCount, next } = grammar;
  if (classes.length !== vocab)
    refuse(
      `classes of ${classes.length} tokens for a vocabulary of ${vocab}`,
      'classes',
      'build the grammar for the vocabulary of this policy',
    );
  if (!Number.isInteger(classCount) || classCount < 1 || classCount > 65536)
    refuse(`${classCount} classes`, 'classCount', 'give a whole number from 1 to 65536');
  if (next.length === 0 || next.length % classCount !== 0)
    refuse(
      `${next.length} transitions for ${classCount} classes`,
      'next',
      'give a row of classCount entries for each of at least one state',
    );
  if (next.length > MOST_CELLS)
    refuse(`${next.length} transitions`, 'next', `use at most ${MOST_CELLS}: fewer states or fewer classes`);
  const used = new Uint8Array(classCount);
  for (const [token, of] of classes.entries()) {
    if (of >= classCount)
      refuse(`class ${of} where there are ${classCount}`, `classes[${token}]`, 'number classes from 0');
    used[of] = 1;
  }
  const states = next.length / classCount;
  for (const [cell, state] of next.entries())
    if (state < -1 || state >= states)
      refuse(
        `state ${state} where there are ${states}`,
        `next[${cell}]`,
        'give a state, or −1 for what is forbidden',
      );
  checkReachable(grammar, used);
}

function checkReachable({ classCount, next }: Grammar, used: Uint8Array): void {
  const seen = new Set([0]);
  for (const state of seen) {
    let alive = false;
    for (let c = 0; c < classCount; c++) {
      const to = next[state * classCount + c]!;
      if (to < 0 || !used[c]) continue;
      alive = true;
      seen.add(to);
    }
    if (!alive)
      refuse(
        `state ${state} can be reached and allows no token`,
        `next, row ${state}`,
        'allow a token there, the stop token for one, or forbid the way to it',
      );
  }
}

/**
 * States of a turn: entry i is the state before tokens[i], which is where tokens[i] is allowed or not.
 * @param from state before the first; 0 at the beginning of a turn.
 * @throws LabError where a token is forbidden or outside the vocabulary, or `from` is no state.
 */
export function grammarStates(grammar: Grammar, tokens: readonly number[], from = 0): Int32Array {
  const { classes, classCount, next } = grammar;
  if (!Number.isInteger(from) || from < 0 || from >= stateCount(grammar))
    refuse(`state ${from} where there are ${stateCount(grammar)}`, 'from', 'begin in a state of the grammar');
  const states = new Int32Array(tokens.length);
  let state = from;
  for (const [i, token] of tokens.entries()) {
    states[i] = state;
    const of = classes[token];
    const to = of === undefined ? -1 : next[state * classCount + of]!;
    if (to < 0)
      throw new LabError(`token ${token} is forbidden in state ${state}`, {
        where: `tokens[${i}]`,
        remedy: 'give tokens that were sampled under this grammar, from the beginning of their turn',
      });
    state = to;
  }
  return states;
}

function refuse(what: string, where: string, remedy: string): never {
  throw new LabError(what, { where: `grammar.${where}`, remedy });
}
