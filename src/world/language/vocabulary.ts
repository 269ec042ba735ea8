import { LabError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { canonicalJson } from '../../base/json.ts';
import type { ErrorCode } from '../kit.ts';

/** Marks of the language itself. `<turn>`: the policy speaks next; `;` closes a description, `]` a list. */
export type Mark = '<bos>' | '<turn>' | '<end>' | 'done' | 'tell' | 'with' | ';' | ']';

/** What a token stands for. Every value has one token, whatever field it stands in. */
export type Sign =
  | { kind: 'mark'; name: Mark }
  | { kind: 'tool'; name: string }
  | { kind: 'intent'; name: string }
  | { kind: 'object'; name: string }
  | { kind: 'field'; name: string }
  | { kind: 'error'; name: ErrorCode }
  | { kind: 'value'; value: Json };

export type NamedKind = Exclude<Sign['kind'], 'value'>;

/** The signs of a language, numbered in the order in which they were added; adding one twice changes nothing. */
export class Vocabulary {
  readonly signs: readonly Sign[];
  readonly words: readonly string[];
  readonly #ids = new Map<string, number>();

  /** @throws LabError where two different signs would be written alike. */
  constructor(signs: Iterable<Sign>) {
    const kept: Sign[] = [];
    for (const sign of signs) {
      const key = keyOf(sign);
      if (this.#ids.has(key)) continue;
      this.#ids.set(key, kept.length);
      kept.push(sign);
    }
    this.signs = kept;
    this.words = kept.map(wordOf);
    const twice = this.words.find((word, i) => this.words.indexOf(word) !== i);
    if (twice !== undefined) {
      throw new LabError(`two tokens would both be written "${twice}"`, {
        where: 'vocabulary',
        remedy: 'rename the value, tool or field',
      });
    }
  }

  /** Id of a named sign. @throws LabError where the language has none. */
  id(kind: NamedKind, name: string): number {
    const id = this.#ids.get(`${kind} ${name}`);
    if (id !== undefined) return id;
    throw new LabError(`the language has no token for the ${kind} "${name}"`, {
      where: 'encoding',
      remedy: 'use a name from the vocabulary of this world',
    });
  }

  has(kind: NamedKind, name: string): boolean {
    return this.#ids.has(`${kind} ${name}`);
  }

  /** Id of a value. @throws LabError where the language has none. */
  value(value: Json): number {
    const id = this.#ids.get(`value ${canonicalJson(value)}`);
    if (id !== undefined) return id;
    throw new LabError(`the language has no token for the value ${canonicalJson(value).slice(0, 80)}`, {
      where: 'encoding',
      remedy: 'add it to the pools of this world, or leave it out',
    });
  }
}

function keyOf(sign: Sign): string {
  return sign.kind === 'value' ? `value ${canonicalJson(sign.value)}` : `${sign.kind} ${sign.name}`;
}

const PREFIX = { mark: '', tool: '', intent: 'do:', object: 'the:', field: '.', error: '!' } as const;

function wordOf(sign: Sign): string {
  if (sign.kind !== 'value') return PREFIX[sign.kind] + sign.name;
  return typeof sign.value === 'string' ? sign.value : canonicalJson(sign.value);
}
