import { LabError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { readTokenizerJson } from './read.ts';
import { refuse } from './refuse.ts';
import type { Tokenizer } from './tokenizer.ts';
import { createWordTokenizer, readWordsJson, WORDS_FORMAT } from './words.ts';

export type { BytePairTokenizer } from './bytePair.ts';
export type { EncodeOptions, StreamDecoder, Tokenizer } from './tokenizer.ts';
export type { TrainOptions, TrainProgress } from './train.ts';
export { LARGEST_TRAINED, trainBytePairs } from './train.ts';
export { createWordTokenizer };

/** Longest file that is parsed, in UTF-16 units. The largest byte-level ones in use have about 20 million. */
const LONGEST_FILE = 40_000_000;

/**
 * Reads a tokenizer: a tokenizer.json of a byte-level byte-pair encoding, or what any tokenizer's `toJson` gave.
 * @param source the file's text, or the object that it holds.
 * @param file its name, for errors.
 * @throws LabError that says what is wrong, where and what to do: text that is no JSON or too long, another kind of tokenizer
 * (with the reason), a damaged vocabulary.
 */
export function loadTokenizer(source: string | JsonObject, file = 'tokenizer.json'): Tokenizer {
  try {
    const json = typeof source === 'string' ? parse(source) : source;
    return json.format === WORDS_FORMAT ? readWordsJson(json) : readTokenizerJson(json);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    throw new LabError(error.message, {
      where: error.where ? `${file}, ${error.where}` : file,
      remedy: error.remedy,
      cause: error.cause ?? error,
    });
  }
}

function parse(text: string): JsonObject {
  const remedy = 'load the tokenizer.json that comes with a model';
  if (text.length > LONGEST_FILE)
    refuse(
      `the file has ${text.length} characters, more than ${LONGEST_FILE}`,
      '',
      'load a smaller vocabulary',
    );
  let json: Json;
  try {
    json = JSON.parse(text) as Json;
  } catch (cause) {
    throw new LabError(`it is no JSON: ${cause instanceof Error ? cause.message : cause}`, { remedy, cause });
  }
  return isObject(json) ? json : refuse('it is no JSON object', '', remedy);
}

/** True where both read every text to the same ids and write every id to the same text. */
export function sameTokenizer(a: Tokenizer, b: Tokenizer): boolean {
  return a === b || (a.kind === b.kind && a.size === b.size && a.identity === b.identity);
}

/**
 * Ids of `to` for the ids of `from` [from.size], −1 where `to` has no such token. Tokens are matched by their spelling within
 * their kind: special ones with special ones of that name, others with others of the same bytes. A distribution over `from`
 * can be carried over to `to` where the ids that matter are mapped; whether both part a text alike is another question.
 * @throws LabError where one is of words and the other of bytes.
 */
export function mapTokens(from: Tokenizer, to: Tokenizer): Int32Array {
  if (from.kind !== to.kind)
    refuse(
      `a tokenizer of ${from.kind} against one of ${to.kind}`,
      'tokenizers',
      'compare tokenizers of one kind',
    );
  return Int32Array.from({ length: from.size }, (_, id) => {
    const token = from.token(id);
    const there = to.id(token) ?? -1;
    if (there < 0 || from.special.has(token) !== to.special.has(token)) return -1;
    // An added token may be called what another vocabulary spells bytes with.
    return from.decode([id]) === to.decode([there]) ? there : -1;
  });
}
