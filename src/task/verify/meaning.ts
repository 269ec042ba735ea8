import { canonicalJson, isObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Lexicon } from '../../world/kit.ts';
import type { Ref } from '../../world/request.ts';
import type { ChainCall } from '../model.ts';
import type { Objects, Thing } from '../walk/objects.ts';
import { parsePath, type Segment, valueAt } from '../walk/path.ts';

/** Equality of meanings as text. */
export function refKey(ref: Ref): string {
  return canonicalJson({ root: ref.root as Json, path: ref.path });
}

/**
 * Reads what the values of a chain mean, by composing provenance: an argument means what it was written as or what the
 * output that it came from means; an output means the field of the object that the call was about, or the only object
 * that fits the call's arguments. All meanings are read in one state, s0, and every one given resolves to its value
 * there; a value without such a meaning has none (`null`).
 */
export class Meanings {
  readonly #objects: Objects;
  readonly #lexicon: Lexicon;

  /** @param objects of a world that stands at s0 for as long as this is used. */
  constructor(objects: Objects, lexicon: Lexicon) {
    this.#objects = objects;
    this.#lexicon = lexicon;
  }

  /** What an argument of a call means. */
  argument(chain: readonly ChainCall[], call: number, name: string): Ref | null {
    const origin = chain[call]?.provenance[name];
    if (!origin) return null;
    if (origin.from === 'request') return origin.ref;
    return origin.call < call ? this.output(chain, origin.call, origin.path) : null;
  }

  /** What the value at a path of a call's output means. */
  output(chain: readonly ChainCall[], call: number, path: string): Ref | null {
    const made = chain[call];
    if (!made?.observation.ok) return null;
    const value = valueAt(made.observation.value, path);
    if (value === undefined || value === null) return null;
    const segments = parsePath(path);
    const along = this.#along(chain, call, segments, value);
    return along ?? this.#described(made, segments, value);
  }

  /** The value as a field of an object that an argument names, or as that object itself. */
  #along(chain: readonly ChainCall[], call: number, segments: Segment[], value: Json): Ref | null {
    if (segments.some((segment) => typeof segment === 'number')) return null;
    const names = segments as string[];
    for (const name of Object.keys((chain[call] as ChainCall).args)) {
      const holder = this.argument(chain, call, name);
      if (!holder) continue;
      const own = this.#objects.resolve(holder);
      if (own === undefined || this.#objects.find(own) === null) continue;
      if (own === value) return holder;
      // What an identifier is the id of and what it names are one thing: `owner.id.email` is `owner.email`.
      const before = holder.path.at(-1) === 'id' ? holder.path.slice(0, -1) : holder.path;
      for (let skip = 0; skip < names.length; skip++) {
        const path = names.slice(skip);
        if (!this.#phrasable(path)) continue;
        const ref = { root: holder.root, path: [...before, ...path] };
        if (this.#means(ref, value)) return this.#shortest(ref, value);
      }
    }
    return null;
  }

  /** The first place on the path that holds the value: who has the owner's address is the owner. */
  #shortest(ref: Ref, value: Json): Ref {
    for (let length = 0; length < ref.path.length; length++) {
      const prefix = { root: ref.root, path: ref.path.slice(0, length) };
      if (this.#means(prefix, value)) return prefix;
    }
    return ref;
  }

  /**
   * The value as (a field of) the only object that fits a description: the call's own arguments, which must all be
   * written in the request, and where those fit several objects the first fields shown that tell this one apart.
   */
  #described(made: ChainCall, segments: Segment[], value: Json): Ref | null {
    const where = literalArguments(made);
    if (!where || !made.observation.ok) return null;
    const last = segments.findLastIndex((segment) => typeof segment === 'number');
    const shown =
      last < 0 ? made.observation.value : inside(made.observation.value, segments.slice(0, last + 1));
    const thing = shown === undefined ? null : this.#identify(shown);
    if (!thing || !this.#fits(thing, where)) return null;
    const rest = segments.slice(last + 1) as string[];
    const path = value === thing.id ? [] : rest;
    if (!this.#phrasable(path)) return null;
    for (const extra of this.#distinctions(thing, shown, where, path[0])) {
      const ref: Ref = { root: { the: thing.type, where: { ...where, ...extra } }, path };
      if (this.#means(ref, value)) return ref;
    }
    return null;
  }

  /** Further conditions to try, none first, then each single field that the call showed of the object. */
  #distinctions(
    thing: Thing,
    shown: Json | undefined,
    where: JsonObject,
    told: string | undefined,
  ): JsonObject[] {
    const fields = isObject(shown) ? Object.keys(this.#lexicon.fields) : [];
    const extra = fields.filter((field) => {
      const value = thing.fields[field];
      return (
        isObject(shown) &&
        field in shown &&
        !(field in where) &&
        field !== told &&
        value !== thing.id &&
        (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      );
    });
    return [{}, ...extra.map((field) => ({ [field]: thing.fields[field] as Json }))];
  }

  /** The object of the world that a shown value is: by its id, or as the only one with these fields. */
  #identify(shown: Json): Thing | null {
    if (!isObject(shown)) return this.#objects.find(shown);
    const named = this.#objects.find(shown.id ?? null);
    if (named) return named;
    for (const type of this.#objects.types) {
      const fitting = this.#objects.matching(type, shown);
      if (fitting.length === 1) return this.#objects.find(fitting[0] as string);
    }
    return null;
  }

  #fits(thing: Thing, where: JsonObject): boolean {
    return Object.entries(where).every(
      ([field, value]) =>
        this.#phrasable([field]) && canonicalJson(thing.fields[field] ?? null) === canonicalJson(value),
    );
  }

  #phrasable(path: readonly string[]): boolean {
    return path.every((field) => Object.hasOwn(this.#lexicon.fields, field));
  }

  #means(ref: Ref, value: Json): boolean {
    const meant = this.#objects.resolve(ref);
    return meant !== undefined && canonicalJson(meant) === canonicalJson(value);
  }
}

/** The arguments of a call where all are written in the request as they are, else `null`. */
export function literalArguments(call: ChainCall): JsonObject | null {
  const literal = Object.values(call.provenance).every(
    (origin) => origin.from === 'request' && origin.ref.path.length === 0 && 'id' in origin.ref.root,
  );
  return literal ? call.args : null;
}

function inside(root: Json, segments: readonly Segment[]): Json | undefined {
  let value: Json | undefined = root;
  for (const segment of segments) {
    if (Array.isArray(value)) value = value[Number(segment)];
    else if (isObject(value)) value = value[String(segment)];
    else return undefined;
  }
  return value;
}
