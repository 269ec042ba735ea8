import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';

/** Deepest nesting of a value that a world takes: deeper input is refused before anything recurses over it. */
export const DEEPEST = 32;

/** True where `value` is JSON data no deeper than `DEEPEST`: what may enter a world. */
export function isPlain(value: unknown, depth = 0): value is Json {
  if (depth > DEEPEST) return false;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  if (!isObject(value)) return false;
  return Object.keys(value).every((key) => !LONE_SURROGATE.test(key) && isPlain(value[key], depth + 1));
}

/** Half a character: a key that holds one cannot be written as a JSON pointer. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** A deep copy that nobody can change, whatever its keys are called. */
export function frozenCopy<T extends Json>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as unknown as T;
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    const item = frozenCopy(value[key] as Json);
    // Assigning to `__proto__` would set the prototype instead of a field.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true });
    else copy[key] = item;
  }
  return Object.freeze(copy) as T;
}

/** Equality of JSON values: order of keys is nothing, order of items is something. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => sameJson(item, b[i] as Json));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as Json, b[key] as Json));
}
