import { LabError } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import { parseJson } from './json.ts';

/** A bare number as JSON writes it, without an exponent: `77e2` may be an identifier. */
const BARE = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * A tool's text as a value: parsed where it is a JSON object, array, string, number or literal; else the text itself.
 */
export function parseText(text: string): Json {
  const trimmed = text.trim();
  const first = trimmed.charAt(0);
  const likely = first === '{' || first === '[' || first === '"' || BARE.test(trimmed);
  if (!likely && trimmed !== 'true' && trimmed !== 'false' && trimmed !== 'null') return text;
  try {
    return parseJson(trimmed);
  } catch (error) {
    if (error instanceof LabError) return text;
    throw error;
  }
}

/**
 * The arguments of a call, given as an object or as its JSON text. Nothing (absent, null, an empty text) means none.
 * @throws LabError where they are neither; the message says what they are.
 */
export function parseArguments(given: Json | undefined): JsonObject {
  if (given === undefined || given === null) return {};
  const value = typeof given === 'string' ? (given.trim() === '' ? {} : parseJson(given)) : given;
  if (value === null) return {};
  if (!isObject(value)) {
    throw new LabError(
      `the arguments are ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}, not an object`,
    );
  }
  return value;
}

/**
 * The text of a content field: a string, null, or a list of parts of which those with text count (OpenAI, Anthropic
 * and MCP share `{type: "text", text}`; OpenAI's newer types end in `_text`).
 */
export function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts: string[] = [];
  for (const part of content) {
    if (typeof part === 'string') texts.push(part);
    else if (isObject(part) && typeof part.text === 'string' && part.type !== 'thinking')
      texts.push(part.text);
  }
  return texts.join('\n');
}

/** A field that is a string, else undefined. Own fields only: a trace cannot reach a prototype. */
export function stringField(object: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** A field that is a list, else an empty one. */
export function listField(object: JsonObject, key: string): Json[] {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** A field that is an object, else an empty one. */
export function objectField(object: JsonObject, key: string): JsonObject {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return isObject(value) ? value : {};
}

/** A score: a finite number, true as 1 and false as 0; else null. */
export function scoreOf(value: Json | undefined): number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : null;
}
