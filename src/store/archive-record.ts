import { LabError } from '../base/errors.ts';
import { isObject, type Json } from '../base/json.ts';
import { fromBase64, toBase64 } from './base64.ts';
import type { StoreName } from './model.ts';

/** Fields of a record that are 32-bit floats. */
const FLOATS: Partial<Record<StoreName, readonly string[]>> = {
  checkpoints: ['parameters', 'moment1', 'moment2'],
};

/** JSON has no NaN and no infinity, and a diverged loss is one: `{"$number":"NaN"}`. */
const NUMBER = '$number';
const SPECIAL: Record<string, number> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

/** One line of an export, without the line break. */
export function encodeRecord(store: StoreName, record: object): string {
  const out: Record<string, unknown> = { ...record };
  for (const field of FLOATS[store] ?? []) out[field] = encodeFloats(out[field] as Float32Array);
  return JSON.stringify({ store, record: out }, (_key, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? { [NUMBER]: String(value) } : value,
  );
}

/** The record of such a line, not yet checked. @throws LabError where its floats are none. */
export function decodeRecord(store: StoreName, json: Json | undefined): unknown {
  const record = reviveNumbers(json ?? null);
  if (!isObject(record)) return record;
  const out: Record<string, unknown> = { ...record };
  for (const field of FLOATS[store] ?? []) out[field] = decodeFloats(record[field], field);
  return out;
}

/** Little-endian on every machine that runs WebGPU, so the bytes are those in memory. */
function encodeFloats(values: Float32Array): string {
  return toBase64(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

function decodeFloats(value: Json | undefined, field: string): Float32Array {
  const bytes = typeof value === 'string' ? fromBase64(value) : null;
  if (!bytes || bytes.length % 4 !== 0) throw new LabError(`damaged: ${field} holds no 32-bit floats`);
  return new Float32Array(bytes.buffer);
}

function reviveNumbers(value: Json): Json {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) if (typeof item === 'object') value[i] = reviveNumbers(item);
    return value;
  }
  if (!isObject(value)) return value;
  const special = value[NUMBER];
  if (typeof special === 'string' && Object.hasOwn(SPECIAL, special)) return SPECIAL[special]!;
  for (const [key, item] of Object.entries(value)) {
    // `__proto__` as data would be an assignment to the prototype.
    if (typeof item === 'object' && key !== '__proto__') value[key] = reviveNumbers(item);
  }
  return value;
}
