import type { JsonObject } from '../../base/json.ts';
import { checkId, MOST_IDS, nameOf, refuse, show } from './refuse.ts';
import type { StreamDecoder, Tokenizer } from './tokenizer.ts';

export const WORDS_FORMAT = 'rollout-lab-words-1';

/**
 * The closed vocabulary of a world: token i is words[i]. In text, words stand apart by white space; a word that holds
 * white space, begins with `"` or is empty is spelled as a JSON string, so encode(decode(ids)) = ids for all ids, and
 * decode(encode(text)) is text with single spaces.
 * @param words distinct, at most 2^20; such as the `vocabulary` of a world's language.
 * @param special those words that are marks of the language, such as `<bos>` and `<end>`.
 * @throws LabError on an empty list, a word that stands in it twice, or a special token that is no word.
 */
export function createWordTokenizer(words: readonly string[], special: readonly string[] = []): Tokenizer {
  return new WordTokenizer(words, special);
}

/** Reads what the `toJson` of a word tokenizer gave. @throws LabError on a damaged list. */
export function readWordsJson(json: JsonObject): Tokenizer {
  const list = (field: 'words' | 'special'): string[] => {
    const value = json[field];
    if (!Array.isArray(value)) return refuse('it is no list', field, 'load the file anew');
    return value.map((word, i) =>
      typeof word === 'string' ? word : refuse('it is no text', `${field}[${i}]`, 'load the file anew'),
    );
  };
  return new WordTokenizer(list('words'), list('special'));
}

const WORD = /"(?:[^"\\]|\\.)*"(?!\S)|\S+/gu;
const NEEDS_QUOTES = /^$|^"|\s/u;

class WordTokenizer implements Tokenizer {
  readonly kind = 'words';
  readonly size: number;
  readonly special: ReadonlyMap<string, number>;
  readonly lossless = false;
  readonly identity: string;
  readonly #words: readonly string[];
  readonly #spelled: readonly string[];
  readonly #ids = new Map<string, number>();

  constructor(words: readonly string[], special: readonly string[]) {
    if (words.length === 0 || words.length > MOST_IDS)
      refuse(`a vocabulary of ${words.length} words`, 'words', `give it 1 to ${MOST_IDS} words`);
    this.#words = [...words];
    this.#spelled = words.map((word) => (NEEDS_QUOTES.test(word) ? JSON.stringify(word) : word));
    this.size = words.length;
    for (const [i, word] of words.entries()) {
      const before = this.#ids.get(word);
      if (before !== undefined)
        refuse(
          `${show(word)} stands in it twice`,
          `words[${before}] and words[${i}]`,
          'give every token its own word',
        );
      this.#ids.set(word, i);
    }
    this.special = new Map(
      special.map((name) => {
        const id = this.#ids.get(name);
        if (id === undefined)
          refuse(`the special token ${show(name)} is none of the words`, 'special', 'add it');
        return [name, id];
      }),
    );
    this.identity = `words-${nameOf(JSON.stringify(this.toJson()))}`;
  }

  encode(text: string): number[] {
    const ids: number[] = [];
    for (const match of text.matchAll(WORD)) {
      const word = readWord(match[0]);
      const id = this.#ids.get(word);
      if (id !== undefined) ids.push(id);
      else this.#refuseWord(word, `word ${ids.length + 1}, character ${match.index}`);
    }
    return ids;
  }

  decode(ids: readonly number[]): string {
    return ids.map((id, i) => this.#spell(id, `token ${i}`)).join(' ');
  }

  stream(): StreamDecoder {
    let count = 0;
    return {
      push: (...ids) =>
        ids.map((id) => (count++ ? ' ' : '') + this.#spell(id, `token ${count - 1}`)).join(''),
      end: () => {
        count = 0;
        return '';
      },
    };
  }

  token(id: number): string {
    checkId(id, this.size, 'token');
    return this.#words[id]!;
  }

  id(token: string): number | undefined {
    return this.#ids.get(token);
  }

  toJson(): JsonObject {
    return { format: WORDS_FORMAT, words: [...this.#words], special: [...this.special.keys()] };
  }

  #spell(id: number, where: string): string {
    checkId(id, this.size, where);
    return this.#spelled[id]!;
  }

  #refuseWord(word: string, where: string): never {
    const near = nearestWord(word, this.#words);
    return refuse(
      `the vocabulary has no word ${show(word)}`,
      where,
      near === null ? `use one of its ${this.size} words` : `the nearest word that it has is ${show(near)}`,
    );
  }
}

/** A word as it stands in text: quoted ones as JSON, where they are JSON. */
function readWord(spelled: string): string {
  if (!spelled.startsWith('"')) return spelled;
  try {
    const word: unknown = JSON.parse(spelled);
    return typeof word === 'string' ? word : spelled;
  } catch {
    return spelled;
  }
}

/** The first of the words with the fewest edits to `word`, or null where that is more than half of the longer one. */
function nearestWord(word: string, words: readonly string[]): string | null {
  const target = word.slice(0, 100).toLowerCase();
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const longer = Math.max(candidate.length, target.length);
    if (candidate.length > 100 || Math.abs(candidate.length - target.length) >= fewest) continue;
    const edits = countEdits(target, candidate.toLowerCase());
    if (edits < fewest && 2 * edits <= longer) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

/** Levenshtein's distance: insertions, deletions and replacements of UTF-16 units (Wagner & Fischer 1974). */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
