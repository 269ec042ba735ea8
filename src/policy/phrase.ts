import { LabError } from '../base/errors.ts';
import type { Grammar } from './engine.ts';

/**
 * What may be said, as a regular expression whose letters are sets of tokens. Plain data, so that rooms which do not
 * know this one can write it.
 */
export type Phrase =
  | { kind: 'one'; of: readonly number[] }
  | { kind: 'seq'; parts: readonly Phrase[] }
  | { kind: 'choice'; parts: readonly Phrase[] }
  /** From `least` to `most` times; `most` null = as often as one likes. */
  | { kind: 'repeat'; part: Phrase; least: number; most: number | null };

/** One token out of a set. */
export const one = (of: readonly number[]): Phrase => ({ kind: 'one', of });
/** One after another. */
export const seq = (...parts: Phrase[]): Phrase => ({ kind: 'seq', parts });
/** Any one of them. */
export const choice = (...parts: Phrase[]): Phrase => ({ kind: 'choice', parts });
/** `least` times or more, at most `most` times. */
export const repeat = (part: Phrase, least = 0, most: number | null = null): Phrase => ({
  kind: 'repeat',
  part,
  least,
  most,
});
/** Once or not at all. */
export const optional = (part: Phrase): Phrase => repeat(part, 0, 1);
/** Exactly one of these token sequences. */
export const anyOf = (sequences: readonly (readonly number[])[]): Phrase =>
  choice(...sequences.map((tokens) => seq(...tokens.map((token) => one([token])))));

/** Most states of the automata on the way; a counted repetition of a long phrase can ask for very many. */
const MOST_STATES = 1 << 16;

/**
 * The smallest automaton that allows what begins a phrase, and after a whole phrase another one: a turn that ends with a
 * stop token has the stop token as the phrase's last. State 0 is the beginning.
 * Subset construction over classes of tokens that every set treats alike, then Moore's partition refinement (1956).
 * @throws LabError on a token outside the vocabulary, a repetition that is none, a phrase that nothing fulfils or that
 * the empty sequence alone fulfils, or more than 65,536 states.
 */
export function compileGrammar(phrase: Phrase, vocab: number): Grammar {
  const machine = new Machine(vocab);
  const start = machine.state();
  const end = machine.build(phrase, start);
  machine.jump(end, start);
  const { classes, classCount, members } = machine.classify();
  const rows = determine(machine, start, members, classCount);
  return { classes, classCount, next: minimise(trim(rows, end), classCount) };
}

/** A nondeterministic automaton with empty moves (Thompson 1968), built from left to right. */
class Machine {
  readonly #vocab: number;
  /** Moves on a token set, and empty moves, by state. */
  readonly moves: { set: number; to: number }[][] = [];
  readonly jumps: number[][] = [];
  /** Distinct sets of tokens, sorted. */
  readonly #sets = new Map<string, number>();
  readonly #tokens: number[][] = [];

  constructor(vocab: number) {
    this.#vocab = vocab;
  }

  state(): number {
    if (this.moves.length >= MOST_STATES) tooLarge();
    this.moves.push([]);
    this.jumps.push([]);
    return this.moves.length - 1;
  }

  jump(from: number, to: number): void {
    this.jumps[from]!.push(to);
  }

  /** Adds a phrase after `from` and gives the state after it. */
  build(phrase: Phrase, from: number): number {
    switch (phrase.kind) {
      case 'one': {
        const to = this.state();
        this.moves[from]!.push({ set: this.#setOf(phrase.of), to });
        return to;
      }
      case 'seq':
        return phrase.parts.reduce((at, part) => this.build(part, at), from);
      case 'choice': {
        const to = this.state();
        for (const part of phrase.parts) {
          const begin = this.state();
          this.jump(from, begin);
          this.jump(this.build(part, begin), to);
        }
        return to;
      }
      case 'repeat':
        return this.#repeat(phrase, from);
    }
  }

  #repeat({ part, least, most }: Phrase & { kind: 'repeat' }, from: number): number {
    if (
      !Number.isInteger(least) ||
      least < 0 ||
      (most !== null && !(Number.isInteger(most) && most >= least))
    )
      throw new LabError(`a repetition from ${least} to ${most} times`, {
        where: 'phrase',
        remedy: 'give whole numbers, the first at least 0 and at most the second',
      });
    let at = from;
    for (let i = 0; i < least; i++) at = this.build(part, at);
    const to = this.state();
    if (most === null) {
      const loop = this.state();
      this.jump(at, loop);
      this.jump(this.build(part, loop), loop);
      this.jump(loop, to);
      return to;
    }
    this.jump(at, to);
    for (let i = least; i < most; i++) {
      // A state of its own for each round: a phrase that may be empty must not run back into an earlier one.
      const begin = this.state();
      this.jump(at, begin);
      at = this.build(part, begin);
      this.jump(at, to);
    }
    return to;
  }

  #setOf(of: readonly number[]): number {
    const tokens = [...new Set(of)].sort((a, b) => a - b);
    const bad = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= this.#vocab);
    if (bad !== undefined)
      throw new LabError(`token ${bad} is outside the vocabulary of ${this.#vocab}`, {
        where: 'phrase',
        remedy: `use ids from 0 to ${this.#vocab - 1}`,
      });
    const key = tokens.join();
    const known = this.#sets.get(key);
    if (known !== undefined) return known;
    this.#sets.set(key, this.#tokens.length);
    return this.#tokens.push(tokens) - 1;
  }

  /** Classes of tokens that lie in the same sets, and the classes that each set consists of. */
  classify(): { classes: Uint16Array; classCount: number; members: number[][] } {
    const classes = new Uint16Array(this.#vocab);
    let classCount = 1;
    for (const tokens of this.#tokens) {
      // Tokens of the set leave their class for a new one, unless all of the class leaves.
      const sizes = new Map<number, number>();
      for (const token of tokens) sizes.set(classes[token]!, (sizes.get(classes[token]!) ?? 0) + 1);
      const totals = new Map<number, number>();
      for (const of of classes) if (sizes.has(of)) totals.set(of, (totals.get(of) ?? 0) + 1);
      const renamed = new Map<number, number>();
      for (const [of, size] of sizes) if (size < totals.get(of)!) renamed.set(of, classCount++);
      if (classCount > 65536) tooLarge();
      for (const token of tokens) classes[token] = renamed.get(classes[token]!) ?? classes[token]!;
    }
    const members = this.#tokens.map((tokens) => [...new Set(tokens.map((token) => classes[token]!))]);
    return { classes, classCount, members };
  }

  /** All states that empty moves lead to, sorted. */
  closure(states: Iterable<number>): number[] {
    const seen = new Set(states);
    for (const state of seen) for (const to of this.jumps[state]!) seen.add(to);
    return [...seen].sort((a, b) => a - b);
  }
}

/** A state of the deterministic automaton: the states it stands for, and where each class leads. */
interface Row {
  of: number[];
  next: Int32Array;
}

function determine(machine: Machine, start: number, members: number[][], classCount: number): Row[] {
  const rows: Row[] = [];
  const ids = new Map<string, number>();
  const idOf = (states: Iterable<number>): number => {
    const of = machine.closure(states);
    const key = of.join();
    const known = ids.get(key);
    if (known !== undefined) return known;
    if (rows.length >= MOST_STATES) tooLarge();
    ids.set(key, rows.length);
    return rows.push({ of, next: new Int32Array(classCount).fill(-1) }) - 1;
  };
  idOf([start]);
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!;
    const targets = new Map<number, Set<number>>();
    for (const state of row.of)
      for (const { set, to } of machine.moves[state]!)
        for (const c of members[set]!) {
          if (!targets.has(c)) targets.set(c, new Set());
          targets.get(c)!.add(to);
        }
    for (const [c, states] of targets) row.next[c] = idOf(states);
  }
  return rows;
}

/** Forbids every way from which no phrase can be finished. */
function trim(rows: Row[], end: number): Int32Array[] {
  const before = rows.map(() => new Set<number>());
  for (const [id, { next }] of rows.entries()) for (const to of next) if (to >= 0) before[to]!.add(id);
  const alive = new Set<number>();
  for (const [id, { of }] of rows.entries()) if (of.includes(end)) alive.add(id);
  for (const id of alive) for (const from of before[id]!) alive.add(from);
  if (!alive.has(0) || rows[0]!.next.every((to) => !alive.has(to)))
    throw new LabError('nothing can be said under this grammar', {
      where: 'phrase',
      remedy: 'give each choice a part and each set a token',
    });
  return rows.map(({ next }) => next.map((to) => (alive.has(to) ? to : -1)));
}

/** Merges states from which the same can be said, and drops those that cannot be reached. State 0 stays the first. */
function minimise(rows: readonly Int32Array[], classCount: number): Int32Array {
  let blocks = new Int32Array(rows.length);
  for (let count = 1; ; ) {
    const ids = new Map<string, number>();
    const refined = blocks.map((block, state) => {
      const key = `${block}:${rows[state]!.map((to) => (to < 0 ? -1 : blocks[to]!)).join()}`;
      if (!ids.has(key)) ids.set(key, ids.size);
      return ids.get(key)!;
    });
    blocks = refined;
    if (ids.size === count) break;
    count = ids.size;
  }
  const order = new Map<number, number>([[blocks[0]!, 0]]);
  const kept: Int32Array[] = [rows[0]!];
  for (const row of kept)
    for (const to of row)
      if (to >= 0 && !order.has(blocks[to]!)) {
        order.set(blocks[to]!, kept.length);
        kept.push(rows[to]!);
      }
  const next = new Int32Array(kept.length * classCount);
  for (const [id, row] of kept.entries())
    next.set(
      row.map((to) => (to < 0 ? -1 : order.get(blocks[to]!)!)),
      id * classCount,
    );
  return next;
}

function tooLarge(): never {
  throw new LabError(`the automaton has more than ${MOST_STATES} states`, {
    where: 'phrase',
    remedy: 'shorten counted repetitions or the list of sequences',
  });
}
