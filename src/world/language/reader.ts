import type { NamedKind, Sign, Vocabulary } from './vocabulary.ts';

/** Thrown inside a parser and caught at its edge: what was expected, what stood there. */
export class Unreadable extends Error {}

/** A cursor over tokens. Ids outside the vocabulary are read as unreadable, never as another token. */
export class Reader {
  readonly #vocabulary: Vocabulary;
  readonly #tokens: readonly number[];
  #at = 0;

  constructor(vocabulary: Vocabulary, tokens: readonly number[]) {
    this.#vocabulary = vocabulary;
    this.#tokens = tokens;
  }

  get done(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** The next sign, without taking it. */
  peek(): Sign | undefined {
    const token = this.#tokens[this.#at];
    return token === undefined ? undefined : this.#vocabulary.signs[token];
  }

  /** Takes the next sign if it is of a kind (and name); else stays and gives `undefined`. */
  take(kind: NamedKind, name?: string): string | undefined {
    const sign = this.peek();
    if (sign === undefined || sign.kind === 'value' || sign.kind !== kind) return undefined;
    if (name !== undefined && sign.name !== name) return undefined;
    this.#at++;
    return sign.name;
  }

  /** Takes a value if one is next. */
  takeValue(): (Sign & { kind: 'value' }) | undefined {
    const sign = this.peek();
    if (sign?.kind !== 'value') return undefined;
    this.#at++;
    return sign;
  }

  expected(what: string): never {
    const token = this.#tokens[this.#at];
    const found = token === undefined ? 'nothing' : `"${this.#vocabulary.words[token] ?? token}"`;
    throw new Unreadable(`token ${this.#at + 1}: expected ${what}, found ${found}`);
  }
}
