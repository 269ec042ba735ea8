import { pack } from '../../src/policy/batch.ts';
import type { Grammar, PackedBatch, SampledTurn, Truncation } from '../../src/policy/engine.ts';
import { grammarStates } from '../../src/policy/grammar.ts';
import { choice, compileGrammar, one, optional, repeat, seq } from '../../src/policy/phrase.ts';

/** Log-probabilities of a row under a truncation, from its definition: sort, add up, cut. −Infinity outside. */
export function logProbsOf(
  logits: ArrayLike<number>,
  { temperature, topP = 1, grammar }: Truncation,
  state = 0,
): number[] {
  const open = Array.from(logits, (_, id) => id).filter(
    (id) => !grammar || grammar.next[state * grammar.classCount + grammar.classes[id]!]! >= 0,
  );
  const best = open.reduce((a, b) => (logits[b]! > logits[a]! ? b : a));
  const out = Array.from(logits, () => -Infinity);
  if (temperature === 0) {
    out[best] = 0;
    return out;
  }
  const mass = (id: number) => Math.exp((logits[id]! - logits[best]!) / temperature);
  const total = open.reduce((sum, id) => sum + mass(id), 0);
  const sorted = [...open].sort((a, b) => logits[b]! - logits[a]!);
  const kept: number[] = [];
  let [sum, held] = [0, 0];
  for (const [i, id] of sorted.entries()) {
    const tied = i > 0 && logits[id] === logits[sorted[i - 1]!];
    if (topP < 1 && sum >= topP * total && !tied) break;
    sum += mass(id);
    kept.push(id);
  }
  for (const id of kept) held += mass(id);
  for (const id of kept) out[id] = (logits[id]! - logits[best]!) / temperature - Math.log(held);
  return out;
}

/** Sentences over all tokens but the last few: a number of them decide which may follow. The stop token is 0. */
export function sentences(vocab: number): Grammar {
  const part = (k: number) => one(Array.from({ length: vocab }, (_, id) => id).filter((id) => id % 4 === k));
  const word = choice(seq(part(1), optional(part(2))), seq(part(2), part(3)));
  return compileGrammar(seq(repeat(word, 1, 3), one([0])), vocab);
}

/** One rollout's history: forced and sampled pieces in turn. */
export interface History {
  tokens: number[];
  /** Of each sampled token: its place, its log-probability, the grammar's state before it. */
  sampled: { at: number; logProb: number; state: number }[];
}

/** Adds a turn to a history. */
export function record(
  history: History,
  input: readonly number[],
  said: SampledTurn,
  grammar?: Grammar,
): void {
  history.tokens.push(...input);
  const states = grammar ? grammarStates(grammar, said.tokens) : null;
  for (const [i, token] of said.tokens.entries()) {
    const at = history.tokens.push(token) - 1;
    history.sampled.push({ at, logProb: said.logProbs[i]!, state: states?.[i] ?? 0 });
  }
}

/** The histories as a batch that trains just the sampled tokens, with states, and log-probabilities in its order. */
export function teacherForced(histories: readonly History[]): {
  batch: PackedBatch;
  states: Int32Array;
  logProbs: number[];
} {
  const batch = pack(
    histories.map(({ tokens, sampled }) => {
      const places = new Set(sampled.map(({ at }) => at - 1));
      return { tokens, weights: tokens.map((_, i) => (places.has(i) ? 1 : 0)) };
    }),
  );
  const states = new Int32Array(batch.tokens.length).fill(-1);
  let first = 0;
  for (const { tokens, sampled } of histories) {
    for (const { at, state } of sampled) states[first + at - 1] = state;
    first += tokens.length;
  }
  return { batch, states, logProbs: histories.flatMap(({ sampled }) => sampled.map((s) => s.logProb)) };
}
