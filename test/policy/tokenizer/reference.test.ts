import { Tokenizer as Reference } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { loadTokenizer, trainBytePairs } from '../../../src/policy/tokenizer/index.ts';
import { addedToken, bytePairFile, HAS_DATA, realTexts, vocabOf } from './files.ts';

const TEXT = `The quick brown fox doesn't jump over the lazy dog; it's they'll we've I'm 1234567 3.14159.
Größere Übergänge müssen wir prüfen — naïve café, Ελληνικά κείμενα, русский текст, עברית, العربية.
日本語の文章と中文文本，以及한국어 텍스트。 हिन्दी में लिखा, ไทย, e\u0301 n\u0303o. 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪
if (x >= 10) {\n\treturn foo(bar);\n}\r\n\r\n   // done   \n`.repeat(3);

/** Vocabulary and merges that were trained on the text above. */
function trained(): { tokens: number; merges: [string, string][] } {
  const training = trainBytePairs([TEXT], { size: 700 });
  for (;;) {
    const step = training.next();
    if (!step.done) continue;
    const { model } = step.value.toJson();
    return { tokens: step.value.size, merges: (model as JsonObject).merges as [string, string][] };
  }
}

const { tokens: SIZE, merges: MERGES } = trained();
const SPLIT_BYTES: JsonObject = {
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: false,
};
const split = (Regex: string, behavior = 'Isolated', invert = false): JsonObject => ({
  type: 'Split',
  pattern: { Regex },
  behavior,
  invert,
});
const sequence = (...pretokenizers: Json[]): JsonObject => ({ type: 'Sequence', pretokenizers });

const LLAMA3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const QWEN2 = LLAMA3.replace('{1,3}', '');

const template = (...names: string[]): JsonObject => ({
  type: 'TemplateProcessing',
  single: [
    ...names.map((id) => ({ SpecialToken: { id, type_id: 0 } })),
    { Sequence: { id: 'A', type_id: 0 } },
  ],
  pair: [],
  special_tokens: Object.fromEntries(names.map((id, i) => [id, { id, ids: [SIZE + i], tokens: [id] }])),
});

/** Shapes of files as models come with them, around one small vocabulary. */
const FILES: Record<string, JsonObject> = {
  gpt2: bytePairFile(MERGES, {
    added_tokens: [addedToken(SIZE, '<|endoftext|>')],
    post_processor: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true },
  }),
  roberta: bytePairFile(MERGES, {
    added_tokens: [
      addedToken(SIZE, '<s>'),
      addedToken(SIZE + 1, '</s>'),
      addedToken(SIZE + 2, '<mask>', { lstrip: true }),
    ],
    post_processor: {
      type: 'RobertaProcessing',
      sep: ['</s>', SIZE + 1],
      cls: ['<s>', SIZE],
      trim_offsets: true,
      add_prefix_space: false,
    },
  }),
  spaced: bytePairFile(MERGES, {
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  }),
  llama3: bytePairFile(
    MERGES,
    {
      added_tokens: [addedToken(SIZE, '<|begin_of_text|>'), addedToken(SIZE + 1, '<|eot_id|>')],
      pre_tokenizer: sequence(split(LLAMA3), SPLIT_BYTES),
      post_processor: {
        type: 'Sequence',
        processors: [SPLIT_BYTES, template('<|begin_of_text|>')],
      },
    },
    { ignore_merges: true },
  ),
  qwen2: bytePairFile(MERGES, {
    added_tokens: [addedToken(SIZE, '<|im_start|>'), addedToken(SIZE + 1, '<tool_call>', { special: false })],
    normalizer: { type: 'NFC' },
    pre_tokenizer: sequence(split(QWEN2), SPLIT_BYTES),
  }),
  deepseek: bytePairFile(MERGES, {
    added_tokens: [addedToken(SIZE, '<｜end▁of▁sentence｜>', { normalized: true })],
    normalizer: { type: 'Sequence', normalizers: [] },
    pre_tokenizer: sequence(
      split('\\p{N}{1,3}'),
      split('[一-龥぀-ゟ゠-ヿ]+'),
      split(
        '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
      ),
      SPLIT_BYTES,
    ),
  }),
  gpt4o: bytePairFile(MERGES, {
    pre_tokenizer: sequence(
      split(
        "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        'Removed',
        true,
      ),
      SPLIT_BYTES,
    ),
  }),
};
// A token that no merges make: only `ignore_merges` finds it.
vocabOf(FILES.llama3!).Ġunmade = SIZE + 2;

/** Pieces of which texts are made that go near the edges of patterns, and any characters at all. */
const texts = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
      fc.constantFrom(
        ' ',
        '  ',
        '\n',
        '\r\n',
        '\t ',
        "'s",
        "'LL",
        "don't ",
        ' the',
        '123',
        '12345 ',
        '…',
        '。',
        '，',
        ' 日本',
        'e\u0301',
      ),
      fc.constantFrom(
        '<s>',
        '<mask>',
        ' <mask> ',
        '<|endoftext|>',
        '<|eot_id|>',
        '<|',
        '<tool_call>',
        '<｜end▁of▁sentence｜>',
        ' unmade',
      ),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

/** What the library reads otherwise than Unicode's White_Space where the pattern is ByteLevel's own. */
const ODD_SPACE = /[\u0085\ufeff]/;

describe.each(Object.entries(FILES))('a file like that of %s', (name, file) => {
  const tokenizer = loadTokenizer(JSON.stringify(file));
  const reference = new Reference(structuredClone(file) as never, {});
  const own = name === 'gpt2' || name === 'roberta' || name === 'spaced';

  const agrees = (text: string) => {
    const frame = { frame: true };
    expect(tokenizer.encode(text)).toEqual(reference.encode(text, { add_special_tokens: false }).ids);
    if (name !== 'gpt4o') expect(tokenizer.encode(text, frame)).toEqual(reference.encode(text).ids);
  };

  it('reads text as the library of Hugging Face does', () => {
    agrees(TEXT);
    agrees(' unmade <|eot_id|>x');
    agrees('a'.repeat(2000));
    agrees(' '.repeat(2000));
    fc.assert(
      fc.property(texts, (text) => {
        if (!own || !ODD_SPACE.test(text)) agrees(text);
      }),
      { numRuns: 150 },
    );
  });

  it('writes back what it read', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const back = tokenizer.decode(tokenizer.encode(text));
        if (tokenizer.lossless) expect(back).toBe(text);
        else if (name === 'qwen2')
          expect(back).toBe(
            text
              .split(/(<\|im_start\|>|<tool_call>)/)
              .map((part) => part.normalize('NFC'))
              .join(''),
          );
        else if (name === 'spaced')
          expect(back).toBe(text === '' || text.startsWith(' ') ? text : ` ${text}`);
        else expect(back.replace(/\s+<mask>/g, '<mask>')).toBe(text.replace(/\s+<mask>/g, '<mask>'));
      }),
      { numRuns: 150 },
    );
  });

  it('survives its own file', () => {
    const again = loadTokenizer(JSON.stringify(tokenizer.toJson()));
    expect(again.identity).toBe(tokenizer.identity);
    expect(again.encode(TEXT, { frame: true })).toEqual(tokenizer.encode(TEXT, { frame: true }));
    const theirs = new Reference(JSON.parse(JSON.stringify(tokenizer.toJson())), {});
    expect(theirs.encode(TEXT).ids).toEqual(tokenizer.encode(TEXT, { frame: true }));
  });

  it.skipIf(!HAS_DATA)('reads real traces as the library does', () => {
    for (const text of realTexts(15_000)) agrees(text);
  });
});

describe('tokenizers of several shapes', () => {
  it('have names of their own', () => {
    const names = Object.values(FILES).map((file) => loadTokenizer(file).identity);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are lossless unless they change text', () => {
    const lossless = Object.entries(FILES).filter(([, file]) => loadTokenizer(file).lossless);
    expect(lossless.map(([name]) => name)).toEqual(['gpt2', 'llama3', 'deepseek', 'gpt4o']);
  });

  it('refuse to drop text that no pattern covers', () => {
    const file = bytePairFile([], { pre_tokenizer: sequence(split('[a-z]+', 'Removed', true), SPLIT_BYTES) });
    const tokenizer = loadTokenizer(file);
    expect(tokenizer.encode('abc')).toHaveLength(3);
    expect(() => tokenizer.encode('abc 12')).toThrow(/“ 12” and would drop it/);
    const dropping = bytePairFile([], { pre_tokenizer: sequence(split('[a-z]+', 'Removed'), SPLIT_BYTES) });
    expect(() => loadTokenizer(dropping)).toThrow(/lose no text/);
  });
});
