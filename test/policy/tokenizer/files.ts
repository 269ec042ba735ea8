import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { BYTE_CHARS } from '../../../src/policy/tokenizer/alphabet.ts';

/** Real traces beside the checkout; tests that need them are skipped where they are not. */
const DATA = new URL('../../../../shared/data/traces/', import.meta.url).pathname;
export const HAS_DATA = existsSync(DATA);

/** Files of text, by path, whose sizes together stay within `bytes`. */
export function realTexts(bytes: number): string[] {
  const texts: string[] = [];
  let left = bytes;
  const paths = readdirSync(DATA, { recursive: true }).map((name) => join(DATA, String(name)));
  for (const path of paths.filter((p) => statSync(p).isFile() && statSync(p).size < 1 << 20).sort()) {
    const text = readFileSync(path, 'utf8');
    if (text.length > left) continue;
    left -= text.length;
    texts.push(text);
  }
  return texts;
}

export const GPT2_STEP: JsonObject = {
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: true,
};

/** A tokenizer.json with all bytes and these merges, `changes` laid over it. Merges are pairs spelled in the byte alphabet. */
export function bytePairFile(
  merges: readonly (readonly [string, string])[],
  changes: JsonObject = {},
  model: JsonObject = {},
): JsonObject {
  const tokens = [...new Set([...BYTE_CHARS, ...merges.map(([a, b]) => a + b)])];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: GPT2_STEP,
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    ...changes,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: merges.map(([a, b]) => `${a} ${b}`),
      ...model,
    },
  };
}

/** An entry of `added_tokens`. */
export function addedToken(id: number, content: string, flags: JsonObject = {}): JsonObject {
  return {
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
    ...flags,
  };
}

/** The vocabulary of a file, to be changed. */
export function vocabOf(file: JsonObject): { [token: string]: Json } {
  return (file.model as JsonObject).vocab as JsonObject;
}
