import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { compilePattern } from '../../../src/policy/tokenizer/pattern.ts';
import { GPT2_PATTERN, LAB_PATTERN } from '../../../src/policy/tokenizer/patterns.ts';
import { createSplitter, splitBlocks } from '../../../src/policy/tokenizer/split.ts';

function refusal(pattern: string): string {
  try {
    compilePattern(pattern, 'pre_tokenizer');
  } catch (error) {
    expect(error).toBeInstanceOf(LabError);
    expect((error as LabError).where).toBe('pre_tokenizer');
    expect((error as LabError).remedy).not.toBe('');
    return (error as LabError).message;
  }
  throw new Error(`${pattern} was not refused`);
}

const matches = (pattern: string, text: string) => text.match(compilePattern(pattern, 'test'));

describe('patterns of pre-tokenizers', () => {
  it('mean what they mean to Oniguruma', () => {
    expect(matches("(?i:'s|'re)", "'S 'Re 'm")).toEqual(["'S", "'Re"]);
    expect(matches('\\s+', 'a\u0085b\ufeffc\u3000d')).toEqual(['\u0085', '\u3000']);
    expect(matches('\\d+', '12 ३४')).toEqual(['12', '३४']);
    expect(matches('\\p{Han}+', 'ab漢字c')).toEqual(['漢字']);
    expect(matches('[\\p{L}&&[^\\p{Han}]]+', 'ab漢字c')).toEqual(['ab', 'c']);
    expect(matches('\\h+', 'xyz09aF')).toEqual(['09aF']);
    expect(matches('\\p{N}{1,3}', '1234567')).toEqual(['123', '456', '7']);
    expect(matches('\\s+(?!\\S)|\\s+', 'a   b')).toEqual(['  ', ' ']);
    expect(matches('[^\\s\\p{L}]+', '😀!a')).toEqual(['😀!']);
    expect(matches(' ?[^(\\s|[.,!?…。，、।۔،])]+', 'one two, three')).toEqual(['one', ' two', ' three']);
    expect(matches('a{2}b', 'aab')).toEqual(['aab']);
    expect(matches('(?:ab){3}', 'ababab')).toEqual(['ababab']);
  });

  it.each([
    ['(a+)+b', /repetition of what itself varies/],
    ['(?:a*)*', /repetition of what itself varies/],
    ['(a|ab)*c', /repetition of what itself varies/],
    ['((a?)b)+', /repetition of what itself varies/],
    ['(?:(?:a{1,3}))+', /repetition of what itself varies/],
    ['(?i:a|b){2,}', /repetition of what itself varies/],
    ['(a?){16}', /repetition of what itself varies/],
    ['a?'.repeat(9), /more than 8 choices/],
    ['(?:a|b)'.repeat(9), /more than 8 choices/],
    ['(?:a*b*c*|a*b*c*d*e*f*g*)h*', /more than 8 choices/],
    ['(a|b){17}', /repetition of what itself varies/],
    ['(?:x(?:a|b)){2}', /repetition of what itself varies/],
    ['(?:x(?:a|b))+', /repetition of what itself varies/],
    ['(?=a|b)*', /repetition|express/],
    ['(?:a+){16}(?:a+){2,}', /repetition of what itself varies/],
    ['a{1,3}+', /possessive or doubled/],
    ['a++', /possessive or doubled/],
    ['(?>a+)', /atomic group/],
    ['(a)\\1', /reference back/],
    ['(?<n>a)\\k<n>', /reference back/],
    ['(?<n>a)\\g<n>', /reference back/],
    ['\\Ga', /\\G/],
    ['a\\R', /\\R/],
    ['(a', /express/],
    ['a)', /not opened/],
    ['[a', /express/],
    ['(?x) a', /express/],
    ['\\', /express/],
    ['\\p{Nonsense}', /express/],
    ['x'.repeat(20_001), /20001 characters/],
  ])('refuse %s', (pattern, why) => {
    expect(refusal(pattern)).toMatch(why);
  });

  it('never end otherwise than with an expression or a LabError', () => {
    const bits = fc.constantFrom(
      'a',
      '(',
      ')',
      '(?:',
      '[',
      ']',
      '^',
      '-',
      '|',
      '*',
      '+',
      '?',
      '{2}',
      '{1,}',
      '\\',
      '\\p{L}',
      '(?!',
      '&&',
      '{',
      '}',
      '(?i:',
      '(?<n>',
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 12 }), (parts) => {
        try {
          expect(compilePattern(parts.join(''), 'test')).toBeInstanceOf(RegExp);
        } catch (error) {
          expect(error).toBeInstanceOf(LabError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('compile where code can’t be made from text, as under the page’s policy', () => {
    const path = new URL(
      '../../../node_modules/@huggingface/tokenizers/dist/tokenizers.cjs',
      import.meta.url,
    );
    const module = { exports: {} };
    const context = createContext(
      { module, exports: module.exports, TextEncoder, TextDecoder, console },
      { codeGeneration: { strings: false, wasm: false } },
    );
    expect(() => runInContext('new Function("return 1")', context)).toThrow(/Code generation/);
    runInContext(readFileSync(path, 'utf8'), context);
    const step = JSON.stringify({
      type: 'Split',
      pattern: { Regex: LAB_PATTERN },
      behavior: 'Isolated',
      invert: false,
    });
    const source = runInContext(
      `new module.exports.SplitPreTokenizer(${step}).pattern.source`,
      context,
    ) as string;
    expect(source).toBe(compilePattern(LAB_PATTERN, 'test').source);
  });
});

describe('splitting', () => {
  it('loses nothing, whatever the text', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 });
    const split = createSplitter([{ pattern: LAB_PATTERN, onlyMatches: false }], 'test');
    fc.assert(
      fc.property(units, (codes) => {
        const text = String.fromCharCode(...codes);
        expect(split(text).join('')).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('covers every character by one piece of the lab’s pattern', () => {
    const covered = new RegExp(`^(?:${compilePattern(LAB_PATTERN, 'test').source})$`, 'u');
    for (let code = 0; code <= 0x10ffff; code += 1 + (code > 0x3000 ? code % 7 : 0))
      if (!covered.test(String.fromCodePoint(code))) expect(code).toBe('covered');
  });

  it('cuts long texts into blocks without moving a piece', () => {
    const line = 'Some words, 123 numbers and\n\n  white   space — ﬁn。次の文、続く text\t';
    const text = line.repeat(4000);
    const blocks = splitBlocks(text);
    expect(blocks.length).toBeGreaterThan(3);
    expect(Math.max(...blocks.map((b) => b.length))).toBeLessThan(2 ** 16 + line.length);
    expect(blocks.join('')).toBe(text);
    for (const pattern of [GPT2_PATTERN, LAB_PATTERN]) {
      const whole = text.match(compilePattern(pattern, 'test'))!;
      expect(createSplitter([{ pattern, onlyMatches: false }], 'test')(text)).toEqual(whole);
    }
  });

  it('cuts a word without end between characters', () => {
    const blocks = splitBlocks(`x${'😀'.repeat(100_000)}`);
    expect(blocks.map((b) => b.length)).toEqual([2 ** 17 - 1, 200_001 - 2 ** 17 + 1]);
    expect(blocks.some((b) => /\p{Cs}/u.test(b))).toBe(false);
  });
});
