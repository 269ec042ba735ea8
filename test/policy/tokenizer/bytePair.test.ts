import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../../src/policy/tokenizer/alphabet.ts';
import {
  type BytePairTokenizer,
  loadTokenizer,
  trainBytePairs,
} from '../../../src/policy/tokenizer/index.ts';
import { Merger } from '../../../src/policy/tokenizer/merge.ts';
import { PairTable } from '../../../src/policy/tokenizer/pairs.ts';
import { PieceCache } from '../../../src/policy/tokenizer/pieces.ts';
import { addedToken, bytePairFile } from './files.ts';

const TEXT =
  'The café — naïve Zoë 👩‍👩‍👧‍👦 日本語の文章 עברית हिन्दी 1234 1234 \r\n\t\u0000 aaaa aaaaaaaa e\u0301 '.repeat(
    4,
  );

function trained(): BytePairTokenizer {
  const training = trainBytePairs([TEXT], { size: 420, special: ['<end>', '<turn>'] });
  for (;;) {
    const step = training.next();
    if (step.done) return step.value;
  }
}

const tokenizer = trained();
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc
    .array(fc.constantFrom(...TEXT.split(/(?= )/), '<end>', '<tu', '\ufeff', '\u0000', '\u202e', '\u200d'), {
      maxLength: 40,
    })
    .map((p) => p.join('')),
);
const anyIds = fc.array(fc.integer({ min: 0, max: tokenizer.size - 1 }), { maxLength: 80 });

describe('byte pairs', () => {
  it('write back every well-formed text', () => {
    expect(tokenizer.lossless).toBe(true);
    fc.assert(
      fc.property(anyText, fc.constantFrom('token' as const, 'text' as const), (text, special) => {
        expect(tokenizer.decode(tokenizer.encode(text, { special }))).toBe(text);
      }),
      { numRuns: 1000 },
    );
    for (const text of [
      '',
      '\ufeff',
      '\u0000',
      '\ufeff\ufeffa',
      'مرحبا\u202e!',
      'e\u0301\u0302\u0303',
      '\r\r\n',
      '\ud83d\ude00',
    ])
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  it('write back every character', () => {
    for (let from = 0; from < 0x110000; from += 0x1000) {
      const codes = Array.from({ length: 0x1000 }, (_, i) => from + i).filter(
        (c) => c < 0xd800 || c > 0xdfff,
      );
      const text = String.fromCodePoint(...codes);
      if (tokenizer.decode(tokenizer.encode(text)) !== text) expect(from).toBe('written back');
    }
  });

  it('read a lone surrogate as U+FFFD', () => {
    const units = fc.array(fc.integer({ min: 0xd700, max: 0xe0ff }), { maxLength: 30 });
    fc.assert(
      fc.property(units, (codes) => {
        const text = String.fromCharCode(...codes);
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(
          new TextDecoder().decode(new TextEncoder().encode(text)),
        );
      }),
      { numRuns: 300 },
    );
    expect(tokenizer.decode(tokenizer.encode('a\ud83d b'))).toBe('a\ufffd b');
  });

  it('write back any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect([...tokenizer.decodeBytes(tokenizer.encodeBytes(bytes))]).toEqual([...bytes]);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(anyText, (text) => {
        expect(tokenizer.encodeBytes(utf8(text))).toEqual(tokenizer.encode(text, { special: 'text' }));
      }),
    );
    // Two good bytes of three, a surrogate, an overlong zero, and a good character.
    const odd = Uint8Array.of(0xe2, 0x82, 0xed, 0xa0, 0x80, 0xc0, 0x80, 0xf5, 0xe2, 0x82, 0xac);
    expect([...tokenizer.decodeBytes(tokenizer.encodeBytes(odd))]).toEqual([...odd]);
  });

  it('say a character once it is whole', () => {
    const ids = tokenizer.encodeBytes(Uint8Array.of(0xf0));
    const stream = tokenizer.stream();
    const said = [...utf8('a😀é')].map((byte) => stream.push(...tokenizer.encodeBytes(Uint8Array.of(byte))));
    expect(said).toEqual(['a', '', '', '', '😀', '', 'é']);
    expect(stream.push(...ids)).toBe('');
    expect(stream.end()).toBe('\ufffd');
    expect(stream.push(...tokenizer.encode('b'))).toBe('b');
    expect(stream.end()).toBe('');
  });

  it('say in a stream what they say at once', () => {
    fc.assert(
      fc.property(anyIds, (ids) => {
        const stream = tokenizer.stream();
        const said = ids.map((id) => stream.push(id)).join('') + stream.end();
        expect(said).toBe(tokenizer.decode(ids));
      }),
      { numRuns: 500 },
    );
  });

  it('refuse ids outside the vocabulary', () => {
    for (const id of [-1, tokenizer.size, 1.5, Number.NaN, 2 ** 40]) {
      expect(() => tokenizer.decode([0, id])).toThrow(/no token id/);
      expect(() => tokenizer.stream().push(id)).toThrow(/no token id/);
      expect(() => tokenizer.token(id)).toThrow(/no token id/);
    }
  });

  it('read the same text alike however much was read before', () => {
    const fresh = loadTokenizer(tokenizer.toJson());
    const before = fresh.encode(TEXT);
    for (let i = 0; i < 70_000; i++) fresh.encode(` w${i}`);
    expect(fresh.encode(TEXT)).toEqual(before);
    expect(tokenizer.encode(TEXT)).toEqual(before);
  });

  it('take no longer than n log n for one letter n times', () => {
    const time = (n: number) => {
      const text = 'a'.repeat(n);
      const begin = performance.now();
      expect(tokenizer.decode(tokenizer.encode(text)).length).toBe(n);
      return performance.now() - begin;
    };
    time(100_000);
    // Quadratic time would be some 10^10 steps, most of a minute.
    expect(time(100_000)).toBeLessThan(3000);
  });

  it('merge by rank, the leftmost first', () => {
    const slow = (ids: number[], ranks: readonly (readonly [number, number])[]) => {
      const word = ids.slice();
      for (;;) {
        let best = { rank: ranks.length, at: -1 };
        for (let at = 0; at + 1 < word.length; at++) {
          const rank = ranks.findIndex(([a, b]) => a === word[at] && b === word[at + 1]);
          if (rank >= 0 && rank < best.rank) best = { rank, at };
        }
        if (best.at < 0) return word;
        word.splice(best.at, 2, 3 + best.rank);
      }
    };
    const id = fc.integer({ min: 0, max: 6 });
    const pairs = fc.uniqueArray(fc.tuple(id, id), { maxLength: 6, selector: ([a, b]) => 7 * a + b });
    const word = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 });
    fc.assert(
      fc.property(pairs, word, (ranks, ids) => {
        const merger = new Merger({
          left: Int32Array.from(ranks, ([a]) => a),
          right: Int32Array.from(ranks, ([, b]) => b),
          merged: Int32Array.from(ranks, (_, rank) => 3 + rank),
        });
        expect(merger.merge(ids)).toEqual(slow(ids, ranks));
        expect(merger.merge(ids)).toEqual(slow(ids, ranks));
      }),
      { numRuns: 1000 },
    );
  });

  it('keep a table of pairs as a Map would', () => {
    const table = new PairTable();
    const map = new Map<string, number>();
    const step = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.nat(2 ** 20 - 1), fc.nat(2 ** 30));
    fc.assert(
      fc.property(step, ([left, right, value]) => {
        expect(table.get(left, right % 64)).toBe(map.get(`${left} ${right % 64}`) ?? -1);
        for (const [l, r] of [
          [left, right],
          [right, left],
          [left, right % 64],
        ] as const) {
          table.set(l, r, value);
          map.set(`${l} ${r}`, value);
        }
      }),
      { numRuns: 3000 },
    );
    expect(table.size).toBe(map.size);
    for (const [key, value] of map) {
      const [left, right] = key.split(' ').map(Number) as [number, number];
      expect(table.get(left, right)).toBe(value);
    }
  });

  it('forget pre-tokens that were not asked for', () => {
    const cache = new PieceCache();
    const kept = 'a piece that is asked for, \ud800 now and then';
    cache.set(kept, [1]);
    for (let i = 0; i < 200_000; i++) {
      cache.set(`piece ${i}`, [i]);
      if (i % 1000 === 0) expect(cache.get(kept)).toEqual([1]);
    }
    expect(cache.get('piece 0')).toBeUndefined();
    expect(cache.get('piece 199999')).toEqual([199_999]);
  });
});

describe('added tokens', () => {
  const file = bytePairFile([], {
    added_tokens: [
      addedToken(256, '<a>'),
      addedToken(257, '<a><b>'),
      addedToken(258, 'word', { single_word: true, special: false }),
      addedToken(259, '[M]', { lstrip: true, rstrip: true }),
      addedToken(260, 'ệ', { normalized: true, special: false }),
      addedToken(261, '😀'),
    ],
    normalizer: { type: 'NFC' },
  });
  const added = loadTokenizer(file);
  const found = (text: string, special: 'token' | 'text' = 'token') =>
    added.encode(text, { special }).filter((id) => id >= 256);

  it('are found leftmost, the longest first', () => {
    expect(found('x<a><b><a>')).toEqual([257, 256]);
    expect(found('😀')).toEqual([261]);
  });

  it('stand alone where they must', () => {
    expect(found('word sword words é̀word word_ (word)')).toEqual([258, 258]);
  });

  it('swallow the white space beside them', () => {
    expect(added.decode(added.encode('a  [M] \n b'))).toBe('a[M]b');
    expect(added.decode(added.encode('[M] [M]'))).toBe('[M][M]');
  });

  it('are looked for in the normalised text where they say so', () => {
    expect(found('e\u0323\u0302')).toEqual([260]);
    expect(found('ê\u0323')).toEqual([260]);
    expect(added.lossless).toBe(false);
  });

  it('are text where special tokens may not be spelled', () => {
    expect(found('<a> word [M]😀', 'text')).toEqual([258]);
    expect(added.decode(added.encode('<a> [M]', { special: 'text' }))).toBe('<a> [M]');
  });
});
