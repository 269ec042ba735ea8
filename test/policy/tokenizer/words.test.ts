import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import {
  createWordTokenizer,
  loadTokenizer,
  mapTokens,
  sameTokenizer,
} from '../../../src/policy/tokenizer/index.ts';
import { DESK_LANGUAGE } from '../../../src/world/desk/language.ts';

const WORDS = [
  '<bos>',
  '<end>',
  'book',
  'T-4471',
  'Mon 9:00',
  '',
  '"',
  '"x',
  '__proto__',
  'constructor',
  'a\nb',
  '\ud800',
  '\\',
];
const tokenizer = createWordTokenizer(WORDS, ['<bos>', '<end>']);

function refusal(act: () => unknown): LabError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(LabError);
    return error as LabError;
  }
  throw new Error('nothing was refused');
}

describe('words', () => {
  it('are spelled with single spaces, quoted where they need it', () => {
    expect(tokenizer.decode([0, 2, 3, 4, 5, 1])).toBe('<bos> book T-4471 "Mon 9:00" "" <end>');
    expect(tokenizer.encode('<bos>  book\n"T-4471"  "Mon 9:00" ""')).toEqual([0, 2, 3, 4, 5]);
    expect(tokenizer.encode(' ')).toEqual([]);
    expect(tokenizer.encode('__proto__ constructor')).toEqual([8, 9]);
    expect(tokenizer.id('toString')).toBeUndefined();
  });

  it('read back all that they write', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), { minLength: 1 }),
        fc.infiniteStream(fc.nat()),
        (words, numbers) => {
          const own = createWordTokenizer(words);
          const ids = Array.from({ length: 20 }, () => (numbers.next().value as number) % words.length);
          const text = own.decode(ids);
          expect(own.encode(text)).toEqual(ids);
          const stream = own.stream();
          expect(ids.map((id) => stream.push(id)).join('') + stream.end()).toBe(text);
          expect(sameTokenizer(loadTokenizer(JSON.stringify(own.toJson())), own)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('name the word that they have not, its place and the nearest one', () => {
    const refused = refusal(() => tokenizer.encode('<bos> book T-4417'));
    expect(refused.message).toBe('the vocabulary has no word “T-4417”');
    expect(refused.where).toBe('word 3, character 11');
    expect(refused.remedy).toBe('the nearest word that it has is “T-4471”');
    expect(refusal(() => tokenizer.encode('BOOK')).remedy).toMatch(/“book”/);
    expect(refusal(() => tokenizer.encode('zzzzzzzzzz')).remedy).toBe('use one of its 13 words');
    expect(refusal(() => tokenizer.encode('x'.repeat(100_000))).message.length).toBeLessThan(100);
    expect(refusal(() => tokenizer.encode('"Mon 9:00')).where).toBe('word 1, character 0');
  });

  it('refuse what is no vocabulary', () => {
    expect(refusal(() => createWordTokenizer([])).where).toBe('words');
    expect(refusal(() => createWordTokenizer(['a', 'b', 'a'])).where).toBe('words[0] and words[2]');
    expect(refusal(() => createWordTokenizer(['a'], ['b'])).where).toBe('special');
    expect(refusal(() => tokenizer.decode([0, 13])).where).toBe('token 1');
    expect(refusal(() => loadTokenizer({ format: 'rollout-lab-words-1' })).where).toBe(
      'tokenizer.json, words',
    );
    expect(refusal(() => loadTokenizer({ format: 'rollout-lab-words-1', words: ['a', 1] })).where).toMatch(
      /words\[1\]/,
    );
  });

  it('of the desk are a vocabulary', () => {
    const desk = createWordTokenizer(DESK_LANGUAGE.vocabulary, ['<bos>', '<turn>', '<end>']);
    const ids = DESK_LANGUAGE.vocabulary.map((_, id) => id);
    expect(desk.encode(desk.decode(ids))).toEqual(ids);
    expect(desk.special.get('<end>')).toBe(DESK_LANGUAGE.end);
  });

  it('are compared and mapped by their spelling', () => {
    const other = createWordTokenizer(['book', '<end>', '<bos>'], ['<end>']);
    expect([...mapTokens(other, tokenizer)]).toEqual([2, 1, -1]);
    expect(sameTokenizer(other, createWordTokenizer(['book', '<end>', '<bos>'], ['<end>']))).toBe(true);
    expect(sameTokenizer(other, createWordTokenizer(['book', '<end>', '<bos>']))).toBe(false);
    expect(sameTokenizer(other, tokenizer)).toBe(false);
  });
});
