import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { loadTokenizer, mapTokens, sameTokenizer } from '../../../src/policy/tokenizer/index.ts';
import { addedToken, bytePairFile, vocabOf } from './files.ts';

/** The LabError that loading ends with. */
function refusal(source: string | JsonObject): LabError {
  try {
    loadTokenizer(source);
  } catch (error) {
    expect(error).toBeInstanceOf(LabError);
    const refused = error as LabError;
    expect(refused.remedy).not.toBe('');
    expect(refused.where).toMatch(/^tokenizer\.json/);
    return refused;
  }
  throw new Error('nothing was refused');
}

const LOW = bytePairFile([
  ['l', 'o'],
  ['lo', 'w'],
  ['Ġ', 'low'],
]);

describe('loading a tokenizer.json', () => {
  it('reads merges by rank', () => {
    const tokenizer = loadTokenizer(JSON.stringify(LOW));
    expect(tokenizer.encode('low low lo').map((id) => tokenizer.token(id))).toEqual([
      'low',
      'Ġlow',
      'Ġ',
      'lo',
    ]);
    expect(tokenizer.decode(tokenizer.encode('low low lo'))).toBe('low low lo');
    expect(tokenizer.size).toBe(259);
  });

  it('reads merges written as pairs alike', () => {
    const pairs = bytePairFile(
      [],
      {},
      (LOW.model as JsonObject) && {
        vocab: vocabOf(LOW),
        merges: [
          ['l', 'o'],
          ['lo', 'w'],
          ['Ġ', 'low'],
        ],
      },
    );
    expect(sameTokenizer(loadTokenizer(pairs), loadTokenizer(LOW))).toBe(true);
  });

  it('says what its own file says', () => {
    const tokenizer = loadTokenizer(LOW);
    expect(sameTokenizer(loadTokenizer(JSON.stringify(tokenizer.toJson())), tokenizer)).toBe(true);
    const other = loadTokenizer(bytePairFile([['l', 'o']]));
    expect(sameTokenizer(tokenizer, other)).toBe(false);
    expect([...mapTokens(tokenizer, other)].slice(255)).toEqual([255, 256, -1, -1]);
  });

  it('maps no token to one of other bytes', () => {
    const named = { added_tokens: [addedToken(259, 'Ġlow2', { special: false })] };
    const bytes = bytePairFile([
      ['Ġ', 'l'],
      ['Ġl', 'o'],
      ['Ġlo', 'w'],
      ['Ġlow', '2'],
    ]);
    const [from, to] = [loadTokenizer({ ...LOW, ...named }), loadTokenizer(bytes)];
    expect(from.decode([259])).toBe('Ġlow2');
    expect(to.decode([259])).toBe(' low2');
    expect([...mapTokens(from, to)].slice(256)).toEqual([-1, -1, 258, -1]);
  });

  it('takes __proto__ for a token like any other', () => {
    const file = JSON.parse(
      JSON.stringify(LOW)
        .replace('"lo":256', '"lo":256,"__proto__":259')
        .replace('"added_tokens":[]', `"added_tokens":[${JSON.stringify(addedToken(259, '__proto__'))}]`),
    ) as JsonObject;
    const tokenizer = loadTokenizer(file);
    expect(tokenizer.encode('lo__proto__')).toEqual([256, 259]);
    expect(tokenizer.id('constructor')).toBeUndefined();
    const again = loadTokenizer(JSON.stringify(tokenizer.toJson()));
    expect(again.encode('lo__proto__')).toEqual([256, 259]);
    expect(again.identity).toBe(tokenizer.identity);
  });

  it('refuses what is no JSON or far too long', () => {
    expect(refusal('{"model": ').message).toMatch(/no JSON/);
    expect(refusal('[]').message).toMatch(/no JSON object/);
    expect(refusal(`{"a":"${'x'.repeat(41_000_000)}"}`).message).toMatch(/more than 40000000/);
    expect(refusal({}).where).toBe('tokenizer.json, model');
  });

  it('refuses what is no byte-level BPE, and says why', () => {
    const wordPiece = bytePairFile([], {}, { type: 'WordPiece' });
    expect(refusal(wordPiece).message).toMatch(/“WordPiece”, not BPE/);
    expect(refusal(bytePairFile([], {}, { type: 'Unigram', vocab: [['a', -1]] })).where).toMatch(
      /model\.type/,
    );
    expect(refusal(bytePairFile([], {}, { byte_fallback: true })).message).toMatch(/SentencePiece/);
    expect(refusal(bytePairFile([], { pre_tokenizer: { type: 'Metaspace' } })).message).toMatch(/Metaspace/);
    expect(refusal(bytePairFile([], { pre_tokenizer: null })).message).toMatch(/not with ByteLevel/);
    expect(refusal(bytePairFile([], { normalizer: { type: 'Lowercase' } })).message).toMatch(/Lowercase/);
    expect(refusal(bytePairFile([], { decoder: { type: 'WordPiece' } })).where).toMatch(/decoder/);
    expect(refusal(bytePairFile([], {}, { end_of_word_suffix: '</w>' })).where).toMatch(/end_of_word_suffix/);
    expect(refusal(bytePairFile([], {}, { dropout: 0.1 })).where).toMatch(/model/);
    expect(refusal(bytePairFile([], { post_processor: { type: 'Odd' } })).message).toMatch(/Odd/);
  });

  it('refuses a damaged vocabulary, with the place', () => {
    const changed = (change: (vocab: { [token: string]: unknown }) => void) => {
      const file = structuredClone(LOW);
      change(vocabOf(file));
      return refusal(file);
    };
    expect(changed((v) => delete v.A).message).toMatch(/no token has the id 65|no token for the byte/);
    expect(changed((v) => (v.lo = 300)).message).toMatch(
      /no token has the id 256, though the ids go up to 300/,
    );
    expect(changed((v) => (v.lo = 257)).message).toMatch(/both have the id 257/);
    expect(changed((v) => (v.lo = -1)).where).toMatch(/model\.vocab\[“lo”\]/);
    expect(changed((v) => (v.lo = 1.5)).message).toMatch(/1\.5/);
    expect(changed((v) => (v.lo = '256')).message).toMatch(/"256"/);
    expect(changed((v) => (v.lo = 2 ** 20)).message).toMatch(/not below 1048576/);
    expect(changed((v) => (v.lo = 2 ** 40)).message).toMatch(/not below 1048576/);
  });

  it('refuses merges of tokens that are not there', () => {
    const merges = (list: unknown) => refusal(bytePairFile([['l', 'o']], {}, { merges: list as string[] }));
    expect(merges(['l o', 'lo x']).message).toMatch(/no token “lox”/);
    expect(merges(['l o', 'lo w']).where).toBe('tokenizer.json, model.merges[1]');
    expect(merges(['zz o']).message).toMatch(/“zz”/);
    expect(merges(['lo']).message).toMatch(/no pair/);
    expect(merges(['l o x']).message).toMatch(/no pair/);
    expect(merges([['l', 3]]).message).toMatch(/no pair/);
    expect(merges(['l o', 'l o']).message).toMatch(/stands at 0 already/);
    expect(merges('l o').message).toMatch(/no list/);
  });

  it('refuses added tokens that contradict the vocabulary', () => {
    const added = (...tokens: JsonObject[]) => refusal(bytePairFile([['l', 'o']], { added_tokens: tokens }));
    expect(added(addedToken(300, '<s>')).message).toMatch(/no token has the id 257/);
    expect(added(addedToken(5, '<s>')).message).toMatch(/both have the id 5/);
    expect(added(addedToken(257, 'lo')).message).toMatch(/ids 256 and 257/);
    expect(added(addedToken(257, '')).message).toMatch(/no content/);
    expect(added({ id: 257 }).where).toMatch(/added_tokens\[0\]/);
    const space = vocabOf(LOW).Ġ as number;
    expect(added(addedToken(space, 'Ġ')).message).toMatch(/how a byte is spelled/);
  });
});
