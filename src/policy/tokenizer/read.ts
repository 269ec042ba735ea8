import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { AddedToken } from './added.ts';
import { BYTE_CHARS, readSpelled, utf8 } from './alphabet.ts';
import type { BytePairSpec } from './bytePair.ts';
import { BytePairTokenizer } from './bytePair.ts';
import type { Merges } from './merge.ts';
import { PairTable } from './pairs.ts';
import { readDecoder, readFrame, readNormalForms, readSteps } from './readParts.ts';
import { MOST_IDS, refuse, show } from './refuse.ts';

const MOST_MERGES = 1 << 21;
const NOT_BYTES =
  'load a byte-level BPE tokenizer, such as those of GPT-2, RoBERTa, Llama 3, Qwen 2 and later ones like them';
const DAMAGED = 'load the tokenizer.json anew from where the model comes from';

/**
 * Reads a tokenizer.json of a byte-level byte-pair encoding. `truncation` and `padding` are left out of account: text is
 * never cut or filled up.
 * @param file the parsed file. Merges may be written as `"a b"` or `["a", "b"]`.
 * @throws LabError that says where and why: another kind of tokenizer, an id that is missing, double or not below 2^20,
 * merges of tokens that are not there, a part that would change the text in ways this lab does not follow.
 */
export function readTokenizerJson(file: JsonObject): BytePairTokenizer {
  const model = checkModel(file.model);
  const ids = readVocabulary(model.vocab);
  const added = readAdded(file.added_tokens, ids);
  const tokens = invert(ids);
  checkBytes(ids, added);
  const merges = readMerges(model.merges, ids);
  checkAdded(added, merges);
  const spec: BytePairSpec = {
    tokens,
    merges,
    ignoreMerges: model.ignore_merges === true,
    normalForms: readNormalForms(file.normalizer ?? null),
    ...readSteps(file.pre_tokenizer ?? null),
    added,
    frame: readFrame(file.post_processor ?? null, ids),
  };
  readDecoder(file.decoder ?? null);
  return new BytePairTokenizer(spec);
}

function checkModel(model: Json | undefined): JsonObject {
  if (!isObject(model)) return refuse('there is no model', 'model', DAMAGED);
  const { type } = model;
  // Files of the first years name no type; merges make them BPE.
  if (type !== 'BPE' && !(type === undefined && Array.isArray(model.merges)))
    refuse(
      `the model is ${typeof type === 'string' ? show(type) : 'of no known type'}, not BPE`,
      'model.type',
      NOT_BYTES,
    );
  if (model.byte_fallback === true)
    refuse(
      'this is a SentencePiece vocabulary with single bytes as its last resort',
      'model.byte_fallback',
      NOT_BYTES,
    );
  for (const field of ['continuing_subword_prefix', 'end_of_word_suffix'])
    if (model[field]) refuse('tokens are marked as parts of words', `model.${field}`, NOT_BYTES);
  if (model.dropout) refuse('merges are left out at random', 'model.dropout', 'set dropout to null');
  return model;
}

function readVocabulary(vocab: Json | undefined): Map<string, number> {
  if (!isObject(vocab))
    return refuse('the vocabulary is no object of tokens and ids', 'model.vocab', DAMAGED);
  const ids = new Map<string, number>();
  for (const token of Object.keys(vocab)) {
    const id = vocab[token];
    const where = `model.vocab[${show(token)}]`;
    if (ids.size >= MOST_IDS) refuse(`more than ${MOST_IDS} tokens`, where, 'load a smaller vocabulary');
    ids.set(token, checkNewId(id, where));
  }
  return ids;
}

function checkNewId(id: Json | undefined, where: string): number {
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0)
    return refuse(`its id is ${JSON.stringify(id)}`, where, DAMAGED);
  if (id >= MOST_IDS) refuse(`its id ${id} is not below ${MOST_IDS}`, where, 'load a smaller vocabulary');
  return id;
}

/** Reads the added tokens and enters them in `ids`. */
function readAdded(list: Json | undefined, ids: Map<string, number>): AddedToken[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return refuse('the added tokens are no list', 'added_tokens', DAMAGED);
  return list.map((entry, i) => {
    const where = `added_tokens[${i}]`;
    if (!isObject(entry)) return refuse('it is no object', where, DAMAGED);
    const { content } = entry;
    if (typeof content !== 'string' || content === '') return refuse('it has no content', where, DAMAGED);
    const id = checkNewId(entry.id, `${where}.id`);
    const before = ids.get(content);
    if (before !== undefined && before !== id)
      refuse(`${show(content)} has the ids ${before} and ${id}`, where, DAMAGED);
    ids.set(content, id);
    const special = entry.special === true;
    return {
      id,
      content,
      special,
      singleWord: entry.single_word === true,
      lstrip: entry.lstrip === true,
      rstrip: entry.rstrip === true,
      normalized: typeof entry.normalized === 'boolean' ? entry.normalized : !special,
    };
  });
}

/** Tokens by id. @throws LabError unless the ids are 0 … V − 1, each once. */
function invert(ids: ReadonlyMap<string, number>): string[] {
  if (ids.size === 0) refuse('the vocabulary is empty', 'model.vocab', DAMAGED);
  const tokens: string[] = [];
  for (const [token, id] of ids) {
    if (tokens[id] !== undefined)
      refuse(`${show(tokens[id])} and ${show(token)} both have the id ${id}`, 'model.vocab', DAMAGED);
    tokens[id] = token;
  }
  // A loop, since the methods of an array pass over its holes.
  for (let id = 0; id < tokens.length; id++)
    if (tokens[id] === undefined)
      refuse(
        `no token has the id ${id}, though the ids go up to ${tokens.length - 1}`,
        'model.vocab',
        DAMAGED,
      );
  return tokens;
}

/** Bytes that UTF-8 never uses may be missing. */
function checkBytes(ids: ReadonlyMap<string, number>, added: readonly AddedToken[]): void {
  const contents = new Set(added.map((token) => token.content));
  for (const [byte, char] of BYTE_CHARS.entries()) {
    const unused = byte === 0xc0 || byte === 0xc1 || byte > 0xf4;
    if (!unused && !ids.has(char))
      refuse(
        `there is no token for the byte 0x${byte.toString(16).padStart(2, '0')} (${show(char)})`,
        'model.vocab',
        NOT_BYTES,
      );
    if (contents.has(char) && char >= '\x80')
      refuse(`the added token ${show(char)} is also how a byte is spelled`, 'added_tokens', 'rename it');
  }
}

/** An added token that merges also make may not mean other bytes there than it spells. */
function checkAdded(added: readonly AddedToken[], merges: Merges): void {
  const made = new Set(merges.merged);
  for (const { id, content } of added) {
    const spelled = made.has(id) ? readSpelled(content) : null;
    const own = utf8(content);
    if (spelled && (spelled.length !== own.length || spelled.some((byte, i) => byte !== own[i])))
      refuse(
        `the added token ${show(content)} is also how merged bytes are spelled`,
        'added_tokens',
        'rename it',
      );
  }
}

function readMerges(list: Json | undefined, ids: ReadonlyMap<string, number>): Merges {
  if (!Array.isArray(list)) return refuse('the merges are no list', 'model.merges', DAMAGED);
  if (list.length > MOST_MERGES)
    refuse(`${list.length} merges, more than ${MOST_MERGES}`, 'model.merges', 'load a smaller vocabulary');
  const left = new Int32Array(list.length);
  const right = new Int32Array(list.length);
  const merged = new Int32Array(list.length);
  const seen = new PairTable(list.length);
  for (const [rank, entry] of list.entries()) {
    const where = `model.merges[${rank}]`;
    const pair = typeof entry === 'string' ? entry.split(' ') : entry;
    if (!Array.isArray(pair) || pair.length !== 2) return refuse('it is no pair of tokens', where, DAMAGED);
    const [a, b] = pair;
    if (typeof a !== 'string' || typeof b !== 'string')
      return refuse('it is no pair of tokens', where, DAMAGED);
    const idOf = (token: string) =>
      ids.get(token) ?? refuse(`the vocabulary has no token ${show(token)}`, where, DAMAGED);
    left[rank] = idOf(a);
    right[rank] = idOf(b);
    merged[rank] = idOf(a + b);
    if (!readSpelled(a + b)) refuse(`${show(a + b)} spells no bytes`, where, NOT_BYTES);
    const before = seen.get(left[rank]!, right[rank]!);
    if (before >= 0) refuse(`it stands at ${before} already`, where, DAMAGED);
    seen.set(left[rank]!, right[rank]!, rank);
  }
  return { left, right, merged };
}
