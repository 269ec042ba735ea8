import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import type { Grammar } from '../../src/policy/engine.ts';
import { allows, checkGrammar, grammarStates, stateCount } from '../../src/policy/grammar.ts';
import {
  anyOf,
  choice,
  compileGrammar,
  one,
  optional,
  type Phrase,
  repeat,
  seq,
} from '../../src/policy/phrase.ts';

const VOCAB = 4;
const LONGEST = 4;

/** Everything of at most `LONGEST` tokens that a grammar lets pass, from state 0. */
function passed(grammar: Grammar): Set<string> {
  const out = new Set<string>();
  const go = (state: number, text: string) => {
    out.add(text);
    if (text.length === LONGEST) return;
    for (let token = 0; token < VOCAB; token++)
      if (allows(grammar, state, token))
        go(grammar.next[state * grammar.classCount + grammar.classes[token]!]!, text + token);
  };
  go(0, '');
  return out;
}

const phrases = fc.letrec<{ phrase: Phrase }>((tie) => ({
  phrase: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.uniqueArray(fc.nat(VOCAB - 1), { minLength: 1, maxLength: 3 }).map((of) => one(of)),
    fc.array(tie('phrase'), { minLength: 1, maxLength: 3 }).map((parts) => seq(...parts)),
    fc.array(tie('phrase'), { minLength: 1, maxLength: 3 }).map((parts) => choice(...parts)),
    fc
      .tuple(tie('phrase'), fc.nat(2), fc.option(fc.nat(2)))
      .map(([part, least, more]) => repeat(part, least, more === null ? null : least + more)),
  ),
})).phrase;

/** True where a text begins some sentences in a row: by Brzozowski's derivatives (1964), which know no automaton. */
function begins(phrase: Phrase, text: string): boolean {
  let rest = repeat(phrase);
  for (const token of text) rest = derive(rest, Number(token));
  return possible(rest);
}

/** What may follow a token. */
function derive(phrase: Phrase, token: number): Phrase {
  switch (phrase.kind) {
    case 'one':
      return phrase.of.includes(token) ? seq() : choice();
    case 'choice':
      return choice(...phrase.parts.map((part) => derive(part, token)).filter(possible));
    case 'seq': {
      const [first, ...rest] = phrase.parts;
      if (!first) return choice();
      const through = seq(derive(first, token), ...rest);
      return empties(first) ? choice(...[through, derive(seq(...rest), token)].filter(possible)) : through;
    }
    case 'repeat': {
      const { part, least, most } = phrase;
      if (most === 0) return choice();
      return seq(derive(part, token), repeat(part, Math.max(0, least - 1), most === null ? null : most - 1));
    }
  }
}

function empties(phrase: Phrase): boolean {
  if (phrase.kind === 'one') return false;
  if (phrase.kind === 'seq') return phrase.parts.every(empties);
  if (phrase.kind === 'choice') return phrase.parts.some(empties);
  return phrase.least === 0 || empties(phrase.part);
}

function possible(phrase: Phrase): boolean {
  if (phrase.kind === 'one') return phrase.of.length > 0;
  if (phrase.kind === 'seq') return phrase.parts.every(possible);
  if (phrase.kind === 'choice') return phrase.parts.some(possible);
  return phrase.least === 0 || possible(phrase.part);
}

/** All texts of at most `LONGEST` tokens. */
const TEXTS = Array.from({ length: LONGEST }).reduce<string[]>(
  (texts) => ['', ...texts.flatMap((text) => Array.from({ length: VOCAB }, (_, token) => `${text}${token}`))],
  [''],
);

describe('a compiled grammar', () => {
  it('lets pass exactly what begins some sentences in a row', () => {
    fc.assert(
      fc.property(phrases, (phrase) => {
        fc.pre(TEXTS.some((text) => text !== '' && begins(phrase, text)));
        const grammar = compileGrammar(phrase, VOCAB);
        checkGrammar(grammar, VOCAB);
        const pass = passed(grammar);
        for (const text of TEXTS) expect(pass.has(text), text).toBe(begins(phrase, text));
      }),
      { numRuns: 150 },
    );
  });

  it('is the smallest: a list of sequences shares beginnings and ends', () => {
    const grammar = compileGrammar(
      anyOf([
        [1, 2, 0],
        [1, 3, 0],
        [2, 2, 0],
        [2, 3, 0],
      ]),
      VOCAB,
    );
    // Beginning, after the first, after the second; the end is the beginning again.
    expect(stateCount(grammar)).toBe(3);
    expect(grammar.classCount).toBe(4);
    const loop = compileGrammar(seq(repeat(one([1, 2])), one([0])), VOCAB);
    expect([stateCount(loop), loop.classCount]).toEqual([1, 3]);
    expect([0, 1, 2, 3].map((token) => allows(loop, 0, token))).toEqual([true, true, true, false]);
  });

  it('forbids a way that nothing finishes', () => {
    const grammar = compileGrammar(choice(seq(one([1]), one([])), seq(one([2]), one([0]))), VOCAB);
    expect([0, 1, 2, 3].map((token) => allows(grammar, 0, token))).toEqual([false, false, true, false]);
  });

  it('refuses a phrase that says nothing, strange tokens, bad counts and too much', () => {
    const bad = [
      one([]),
      choice(),
      seq(),
      optional(seq()),
      one([VOCAB]),
      one([0.5]),
      repeat(one([1]), -1),
      repeat(one([1]), 2, 1),
      repeat(repeat(one([1]), 0, 1000), 0, 1000),
    ];
    for (const phrase of bad) expect(() => compileGrammar(phrase, VOCAB)).toThrow(LabError);
  });
});

describe('grammarStates', () => {
  const grammar = compileGrammar(seq(one([1]), repeat(one([2]), 0, 2), one([0])), VOCAB);

  it('walks a turn, and goes on from a state', () => {
    const states = grammarStates(grammar, [1, 2, 2, 0, 1]);
    expect(states[0]).toBe(0);
    expect(states[4]).toBe(0);
    expect(new Set(states).size).toBe(4);
    expect(grammarStates(grammar, [2, 0], states[2])).toEqual(states.slice(2, 4));
    expect(grammarStates(grammar, [])).toEqual(new Int32Array());
  });

  it('names the token that is forbidden', () => {
    expect(() => grammarStates(grammar, [1, 2, 2, 2])).toThrow(/token 2 is forbidden in state/);
    expect(() => grammarStates(grammar, [1, VOCAB])).toThrow(LabError);
    expect(() => grammarStates(grammar, [1], 9)).toThrow(LabError);
  });
});

describe('checkGrammar', () => {
  const good: Grammar = {
    classes: Uint16Array.of(0, 1, 1, 1),
    classCount: 3,
    // State 2 allows only a class without tokens, but nothing leads there.
    next: Int32Array.of(0, 1, -1, 0, -1, -1, -1, -1, 1),
  };

  it('takes a sound one, with a dead state that cannot be reached', () => {
    checkGrammar(good, 4);
  });

  it('refuses wrong sizes, classes and states out of range, and dead ends', () => {
    const bad: [Partial<Grammar>, number?][] = [
      [{}, 5],
      [{ classCount: 0 }],
      [{ classCount: 2.5 }],
      [{ classCount: 4 }],
      [{ next: new Int32Array() }],
      [{ classes: Uint16Array.of(0, 1, 3, 1) }],
      [{ next: Int32Array.of(0, 3, -1, 0, -1, -1, -1, -1, 1) }],
      [{ next: Int32Array.of(0, -2, -1, 0, -1, -1, -1, -1, 1) }],
      [{ next: Int32Array.of(0, 2, -1, 0, -1, -1, -1, -1, 1) }],
      [{ next: Int32Array.of(-1, -1, -1) }],
    ];
    for (const [change, vocab = 4] of bad)
      expect(() => checkGrammar({ ...good, ...change }, vocab)).toThrow(LabError);
  });
});
