import { LabError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { findJsonError } from './jsonError.ts';

/** Deepest nesting that is read. Whoever walks a value later may recurse; no agent's trace comes near this. */
export const MAX_DEPTH = 1000;

/** Where a number could lose its identity: 16 digits in a row (2^53 has 16), or an exponent of three digits. */
const SUSPECT = /\d{16,}|[eE]\+?\d{3}/g;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Parses JSON text without losing the identity of numbers: one whose whole part lies beyond ±(2^53 − 1), or that is
 * too large for a double, becomes the string of its exact digits. Ordinary text costs one extra pass over its brackets.
 *
 * A `__proto__` key becomes an own property like any other (so `JSON.parse` defines it) and changes no prototype.
 *
 * @throws LabError with the line and column of the first error and what was expected there, or where the nesting is
 *   deeper than `MAX_DEPTH`. `where` is empty where the text has a single line and the error is at its start.
 */
export function parseJson(text: string): Json {
  const deep = text.length > 2 * MAX_DEPTH ? findTooDeep(text) : -1;
  if (deep >= 0) {
    throw new LabError(`nested deeper than ${MAX_DEPTH} levels`, { where: describeOffset(text, deep) });
  }
  SUSPECT.lastIndex = 0;
  const exact = SUSPECT.test(text)
    ? rewriteNumbers(text, (token) => (keepsIdentity(token) ? null : `"${token}"`))
    : text;
  try {
    return JSON.parse(exact) as Json;
  } catch (cause) {
    const error = findJsonError(text);
    throw new LabError(`not JSON: expected ${error.expected}, found ${error.found}`, {
      where: describeOffset(text, error.offset),
      cause,
    });
  }
}

/**
 * `JSON.stringify` whose result `parseJson` reads back unchanged: numbers beyond 2^53, which it would take for
 * identifiers, are written with an exponent. (−0 becomes 0, as JSON has it in JavaScript.)
 */
export function stringifyJson(value: Json): string {
  const text = JSON.stringify(value);
  SUSPECT.lastIndex = 0;
  if (!SUSPECT.test(text)) return text;
  return rewriteNumbers(text, (token) => (keepsIdentity(token) ? null : Number(token).toExponential()));
}

function keepsIdentity(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  const whole = /^-?(\d+)/.exec(token)?.[1] ?? '';
  return whole.length < 16 || Number.isSafeInteger(Math.trunc(value));
}

/** Replaces suspect number tokens that stand outside strings; `replace` says null to keep one. */
function rewriteNumbers(text: string, replace: (token: string) => string | null): string {
  const pieces: string[] = [];
  let copied = 0;
  /** Always outside a string: everything before it has been walked. */
  let cursor = 0;
  /** The next quote from there, looked for once. */
  let quote = text.indexOf('"');
  SUSPECT.lastIndex = 0;
  for (let match = SUSPECT.exec(text); match; match = SUSPECT.exec(text)) {
    while (quote >= 0 && quote < match.index) {
      cursor = endOfString(text, quote);
      quote = text.indexOf('"', cursor);
    }
    if (cursor > match.index) {
      SUSPECT.lastIndex = cursor;
      continue;
    }
    let start = match.index;
    while (start > cursor && /[-+.eE\d]/.test(text.charAt(start - 1))) start--;
    NUMBER.lastIndex = start;
    const token = NUMBER.exec(text)?.[0];
    if (token === undefined) continue;
    const end = start + token.length;
    const replacement = replace(token);
    if (replacement !== null) {
      pieces.push(text.slice(copied, start), replacement);
      copied = end;
    }
    cursor = Math.max(cursor, end);
    SUSPECT.lastIndex = Math.max(SUSPECT.lastIndex, end);
  }
  pieces.push(text.slice(copied));
  return pieces.join('');
}

/** Offset just after the string that opens at `open`, or the end of the text where it never closes. */
function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close >= 0) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}

function findTooDeep(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 34) i = endOfString(text, i) - 1;
    else if (unit === 91 || unit === 123) {
      depth++;
      if (depth > MAX_DEPTH) return i;
    } else if (unit === 93 || unit === 125) depth--;
  }
  return -1;
}

/** `line 3, column 7` where the text has several lines, else `column 7`; both count from 1. */
function describeOffset(text: string, offset: number): string {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  const column = `column ${offset - start + 1}`;
  return text.includes('\n') ? `line ${line}, ${column}` : column;
}
