import { AddedSplitter, type AddedToken } from './added.ts';
import { BYTE_CHARS, utf8 } from './alphabet.ts';
import { BytePairTokenizer } from './bytePair.ts';
import { PairCounts, type WordTable } from './pairCounts.ts';
import { LAB_PATTERN } from './patterns.ts';
import { copyOf } from './pieces.ts';
import { refuse, show } from './refuse.ts';
import { createSplitter, splitBlocks } from './split.ts';

/** Largest vocabulary that is trained here. */
export const LARGEST_TRAINED = 32_768;
const MOST_WORDS = 1 << 23;
/** Longest word that pairs are counted in, in bytes; no token becomes longer. */
const LONGEST_WORD = 256;
const WORDS_A_REPORT = 1 << 14;
const MERGES_A_REPORT = 64;

export interface TrainOptions {
  /** V to reach, special tokens and the 256 bytes included: at most 32,768. Fewer where the text gives no more. */
  size: number;
  /** Pairs that occur less often are not merged. 2 where nothing is said. */
  minFrequency?: number;
  /** They get the first ids, in this order, and are never counted as text. */
  special?: readonly string[];
  /** The pre-tokenizer, an Oniguruma expression. `LAB_PATTERN` where nothing is said. */
  pattern?: string;
}

/** How far a training is. */
export type TrainProgress =
  | { phase: 'reading'; texts: number; characters: number }
  | { phase: 'counting'; words: number; of: number }
  | { phase: 'merging'; merges: number; of: number };

/**
 * Trains a byte-level byte-pair encoding (Sennrich et al. 2016, algorithm 1, on the bytes of pre-tokens): the most frequent pair of
 * neighbours becomes a token, again and again. Of equally frequent pairs the one with the lowest left id goes first, then the
 * lowest right id; ids are special tokens, bytes in order, merges in order. So the result depends on the texts and
 * the options alone, and not on the order of the texts. Words above 256 bytes are counted in parts of that length.
 * @param texts read once, in order.
 * @returns a generator that reports progress and can be left at any time; its return value is the tokenizer. It stands
 * still while it is not pulled.
 * @throws LabError on options that can't be met, or on more than 2^23 different words.
 */
export function* trainBytePairs(
  texts: Iterable<string>,
  options: TrainOptions,
): Generator<TrainProgress, BytePairTokenizer> {
  const { size, minFrequency = 2, special = [], pattern = LAB_PATTERN } = options;
  checkOptions(size, minFrequency, special);
  const tokens = [...special, ...BYTE_CHARS];
  const added = special.map(toAdded);
  const steps = [{ pattern, onlyMatches: false }];
  const words = yield* countWords(texts, pattern, added);
  const pairs = yield* countPairs(toTable(words, special.length));

  const ids = new Map(tokens.map((token, id) => [token, id]));
  const left: number[] = [];
  const right: number[] = [];
  const merged: number[] = [];
  const of = size - tokens.length;
  const first = tokens.length;
  while (tokens.length < size) {
    const pair = pairs.take(minFrequency);
    if (!pair) break;
    const token = tokens[pair.left]! + tokens[pair.right]!;
    let id = ids.get(token);
    // A special token's name may be the spelling of some bytes; they stay apart.
    if (id !== undefined && id < special.length) continue;
    if (id === undefined) {
      id = tokens.length;
      ids.set(token, id);
      tokens.push(token);
    }
    pairs.merge(pair.left, pair.right, id);
    left.push(pair.left);
    right.push(pair.right);
    merged.push(id);
    if (left.length % MERGES_A_REPORT === 0) yield { phase: 'merging', merges: tokens.length - first, of };
  }
  yield { phase: 'merging', merges: tokens.length - first, of };
  return new BytePairTokenizer({
    tokens,
    merges: { left: Int32Array.from(left), right: Int32Array.from(right), merged: Int32Array.from(merged) },
    ignoreMerges: false,
    normalForms: [],
    steps,
    prefixSpace: false,
    added,
    frame: { before: [], after: [] },
  });
}

function toAdded(content: string, id: number): AddedToken {
  return { id, content, special: true, singleWord: false, lstrip: false, rstrip: false, normalized: false };
}

function checkOptions(size: number, minFrequency: number, special: readonly string[]): void {
  const least = 256 + special.length;
  if (!Number.isInteger(size) || size < least || size > LARGEST_TRAINED)
    refuse(
      `a vocabulary of ${size} tokens`,
      'size',
      `choose a whole number from ${least} (the bytes and the special tokens) to ${LARGEST_TRAINED}`,
    );
  if (!Number.isInteger(minFrequency) || minFrequency < 1)
    refuse(`a least frequency of ${minFrequency}`, 'minFrequency', 'choose a whole number from 1 up');
  for (const [i, name] of special.entries()) {
    const where = `special[${i}]`;
    if (name === '') refuse('a special token without a name', where, 'name it, as in <end>');
    if (special.indexOf(name) !== i) refuse(`${show(name)} is there twice`, where, 'leave one of them out');
    if (BYTE_CHARS.includes(name))
      refuse(`${show(name)} is how a byte is spelled`, where, 'choose a longer name');
  }
}

/** Counts the pre-tokens of all texts. */
function* countWords(
  texts: Iterable<string>,
  pattern: string,
  added: readonly AddedToken[],
): Generator<TrainProgress, Map<string, number>> {
  const split = createSplitter([{ pattern, onlyMatches: false }], 'pattern');
  const parts = new AddedSplitter(added);
  const counts = new Map<string, number>();
  let characters = 0;
  let read = 0;
  for (const text of texts) {
    read++;
    for (const section of parts.split(text)) {
      if (typeof section === 'number') continue;
      for (const block of splitBlocks(section)) {
        for (const word of split(block)) {
          const count = counts.get(word);
          counts.set(count === undefined ? copyOf(word) : word, (count ?? 0) + 1);
        }
        if (counts.size > MOST_WORDS)
          refuse(
            `more than ${MOST_WORDS} different words`,
            `text ${read}`,
            'train on less text, a sample of it is enough',
          );
        characters += block.length;
        yield { phase: 'reading', texts: read, characters };
      }
    }
  }
  return counts;
}

function* countPairs(table: WordTable): Generator<TrainProgress, PairCounts> {
  const pairs = new PairCounts(table);
  const of = table.weights.length;
  for (let from = 0; from < of; from += WORDS_A_REPORT) {
    pairs.count(from, from + WORDS_A_REPORT);
    yield { phase: 'counting', words: Math.min(of, from + WORDS_A_REPORT), of };
  }
  return pairs;
}

/** Words as bytes, whose ids begin at `first`. Words of one byte hold no pair and are left out. */
function toTable(words: ReadonlyMap<string, number>, first: number): WordTable {
  const parts: Uint8Array[] = [];
  const weights: number[] = [];
  let length = 0;
  for (const [word, count] of words) {
    const bytes = utf8(word);
    for (let at = 0; at < bytes.length; at += LONGEST_WORD) {
      const part = bytes.subarray(at, at + LONGEST_WORD);
      if (part.length < 2) continue;
      parts.push(part);
      weights.push(count);
      length += part.length;
    }
  }
  const ids = new Int32Array(length);
  const starts = new Int32Array(parts.length + 1);
  let at = 0;
  for (const [w, part] of parts.entries()) {
    for (const byte of part) ids[at++] = first + byte;
    starts[w + 1] = at;
  }
  return { ids, starts, weights: Float64Array.from(weights) };
}
