import type { Json, JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';

/**
 * How tools say in plain text that they failed, at the very start of the text: `Error: …`, `ValueError: …`,
 * `Error executing tool …`, a Python traceback, `Failed to fetch …`, MCP's validation and time-out notices, and a
 * Markdown heading `# Search Failed`.
 */
const FAILURES = [
  /^(?:[A-Z]\w*)?(?:Error|Exception)\s*:/,
  /^Error (?:executing|calling|processing|searching|running|reading|fetching|occurred)\b/,
  /^Traceback \(most recent call last\)/,
  /^Failed to [a-z]+/,
  /^Input validation error/,
  /^MCP error -?\d+/,
  /^Tool call timed out/,
  /^#+ (?:[\w ]*\bFailed|Error)\s*(?:\n|$)/,
];

/**
 * The error that a result without an error flag speaks of, in its own words; null where it speaks of none.
 *
 * A text fails by the phrases above. An object fails by a set `error` (text, object or true; null, false and empty text
 * are how success is written), by `isError: true`, and by `success: false`, `status: "error"` or `ok: false`.
 */
export function softError(result: Json | undefined): string | null {
  if (typeof result === 'string') {
    const text = result.trimStart();
    return FAILURES.some((pattern) => pattern.test(text)) ? result : null;
  }
  if (!isObject(result)) return null;
  const said = ownError(result);
  if (said !== null) return said;
  const failed =
    result.isError === true ||
    result.success === false ||
    result.ok === false ||
    // Not `failed`: so says a job or a payment that was looked up well.
    result.status === 'error';
  if (!failed) return null;
  for (const key of ['message', 'detail', 'reason']) {
    const text = result[key];
    if (typeof text === 'string' && text !== '') return text;
  }
  return JSON.stringify(result);
}

function ownError(result: JsonObject): string | null {
  if (!Object.hasOwn(result, 'error')) return null;
  const error = result.error as Json;
  if (error === true) return typeof result.message === 'string' ? result.message : JSON.stringify(result);
  if (typeof error === 'string') return error === '' ? null : error;
  if (!isObject(error)) return null;
  return typeof error.message === 'string' ? error.message : JSON.stringify(error);
}
