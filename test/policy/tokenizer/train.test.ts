import { Tokenizer as Reference } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { BYTE_CHARS, utf8 } from '../../../src/policy/tokenizer/alphabet.ts';
import type { BytePairTokenizer } from '../../../src/policy/tokenizer/index.ts';
import { loadTokenizer, type TrainOptions, trainBytePairs } from '../../../src/policy/tokenizer/index.ts';
import { LAB_PATTERN } from '../../../src/policy/tokenizer/patterns.ts';
import { createSplitter } from '../../../src/policy/tokenizer/split.ts';
import { HAS_DATA, realTexts } from './files.ts';

function train(texts: Iterable<string>, options: TrainOptions): BytePairTokenizer {
  const training = trainBytePairs(texts, options);
  for (;;) {
    const step = training.next();
    if (step.done) return step.value;
  }
}

/** The merges of a training that counts all pairs anew for each merge. */
function slowMerges(texts: readonly string[], merges: number, least: number): [number, number][] {
  const split = createSplitter([{ pattern: LAB_PATTERN, onlyMatches: false }], 'test');
  let words = texts.flatMap((text) => split(text)).map((word) => [...utf8(word)]);
  const spelled = BYTE_CHARS.slice();
  const out: [number, number][] = [];
  while (spelled.length < 256 + merges) {
    const counts = new Map<number, number>();
    for (const word of words)
      for (let i = 1; i < word.length; i++) {
        const key = word[i - 1]! * 65536 + word[i]!;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    const [best] = [...counts].sort(([a, m], [b, n]) => n - m || a - b);
    if (!best || best[1] < least) break;
    const [left, right] = [Math.floor(best[0] / 65536), best[0] % 65536];
    const token = spelled[left]! + spelled[right]!;
    const id = spelled.includes(token) ? spelled.indexOf(token) : spelled.push(token) - 1;
    out.push([left, right]);
    words = words.map((word) => {
      const next: number[] = [];
      for (let i = 0; i < word.length; i++) {
        if (word[i] === left && word[i + 1] === right) {
          next.push(id);
          i++;
        } else next.push(word[i]!);
      }
      return next;
    });
  }
  return out;
}

function mergesOf({ spec: { merges } }: BytePairTokenizer): [number, number][] {
  return Array.from(merges.left, (left, i) => [left, merges.right[i]!]);
}

describe('training byte pairs', () => {
  it('finds aa, ab, aaab in aaabdaaabac', () => {
    // aa 4, ab 2, all others 1 → aa = 256; then (a, b) and (aa, a) are both there twice, and a is the lower id → ab = 257;
    // then (aa, ab) twice → aaab = 258; then nothing is there twice.
    const tokenizer = train(['aaabdaaabac'], { size: 300 });
    expect(tokenizer.size).toBe(259);
    expect([256, 257, 258].map((id) => tokenizer.token(id))).toEqual(['aa', 'ab', 'aaab']);
    expect(tokenizer.encode('aaabdaaabac')).toEqual([258, 100, 258, 97, 99]);
    expect(tokenizer.encode('aaaa')).toEqual([256, 256]);
    expect(tokenizer.encode('aab')).toEqual([256, 98]);
  });

  it('counts as a training does that counts anew each time', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', 'é'), maxLength: 60 });
    fc.assert(
      fc.property(
        fc.array(letters, { maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (texts, minFrequency) => {
          const tokenizer = train(texts, { size: 286, minFrequency });
          expect(mergesOf(tokenizer)).toEqual(slowMerges(texts, 30, minFrequency));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('asks not for the order of the texts', () => {
    const texts = ['the cat sat on the mat', 'a cat, a hat', 'that mat sat'];
    const one = train(texts, { size: 290 });
    const other = train([...texts].reverse(), { size: 290 });
    expect(other.identity).toBe(one.identity);
  });

  it('gives special tokens the first ids and never counts their names', () => {
    const special = ['<turn>', '__proto__', 'Ġcat'];
    const texts = ['<turn> cat <turn> cat <turn> __proto__', 'a cat'];
    const tokenizer = train(texts, { size: 280, special });
    expect([...tokenizer.special]).toEqual(special.map((name, id) => [name, id]));
    expect(tokenizer.encode('<turn>__proto__')).toEqual([0, 1]);
    expect(tokenizer.encode(' cat')).not.toContain(2);
    expect(tokenizer.decode(tokenizer.encode(' cat Ġcat'))).toBe(' cat Ġcat');
    expect(tokenizer.encode('<turn>', { special: 'text' })).not.toContain(0);
    expect(tokenizer.decode(tokenizer.encode('<turn>', { special: 'text' }))).toBe('<turn>');
    for (let id = 259; id < tokenizer.size; id++) expect(tokenizer.token(id)).not.toMatch(/turn|proto/);
    const again = loadTokenizer(JSON.stringify(tokenizer.toJson()));
    expect(again.encode('<turn> cat __proto__')).toEqual(tokenizer.encode('<turn> cat __proto__'));
    expect(again.identity).toBe(tokenizer.identity);
  });

  it('can be paused and reports how far it is', () => {
    const reports = [...trainBytePairs(['ab ab abc', 'abc'], { size: 258 })];
    expect(reports).toEqual([
      { phase: 'reading', texts: 1, characters: 9 },
      { phase: 'reading', texts: 2, characters: 12 },
      { phase: 'counting', words: 4, of: 4 },
      { phase: 'merging', merges: 2, of: 2 },
    ]);
  });

  it('stands long words and long runs', () => {
    const tokenizer = train(['a'.repeat(100_000)], { size: 300 });
    expect(tokenizer.token(tokenizer.size - 1).length).toBe(256);
    // 100,000 = 390 · 256 + 128 + 32.
    expect(tokenizer.encode('a'.repeat(100_000)).length).toBe(392);
  });

  it('refuses options that can’t be met', () => {
    const refused = (options: TrainOptions) => {
      try {
        train([], options);
      } catch (error) {
        expect(error).toBeInstanceOf(LabError);
        return (error as LabError).where;
      }
      throw new Error('nothing was refused');
    };
    expect(refused({ size: 255 })).toBe('size');
    expect(refused({ size: 256, special: ['<s>'] })).toBe('size');
    expect(refused({ size: 32_769 })).toBe('size');
    expect(refused({ size: 300.5 })).toBe('size');
    expect(refused({ size: 300, minFrequency: 0 })).toBe('minFrequency');
    expect(refused({ size: 300, special: ['<s>', ''] })).toBe('special[1]');
    expect(refused({ size: 300, special: ['<s>', '<s>'] })).toBe('special[1]');
    expect(refused({ size: 300, special: ['Ġ'] })).toBe('special[0]');
    expect(refused({ size: 300, pattern: '(a+)+' })).toBe('pattern, step 1');
  });

  it.skipIf(!HAS_DATA)('writes a file that the library of Hugging Face reads alike', () => {
    const texts = realTexts(600_000);
    const tokenizer = train(texts, { size: 2000, special: ['<|end|>'] });
    expect(tokenizer.size).toBe(2000);
    const file = JSON.parse(JSON.stringify(tokenizer.toJson()));
    const reference = new Reference(file, {});
    const probes = [
      ...texts.slice(0, 6).map((t) => t.slice(0, 20_000)),
      'Ein Häuschen 🏠 <|end|>\r\n\t x\u0085\ufeffy  ',
      'a'.repeat(3000),
    ];
    for (const text of probes) {
      const ids = tokenizer.encode(text);
      expect(ids).toEqual(reference.encode(text).ids);
      expect(tokenizer.decode(ids)).toBe(text);
    }
    const written = tokenizer.encode(texts.join('\n')).length;
    expect(utf8(texts.join('\n')).length / written).toBeGreaterThan(2.5);
  });
});
