import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { CallError } from '../kit.ts';
import { isPlain } from './data.ts';

/** Checks the arguments of one tool: `null` where they are valid, else an error that names the argument. */
export type ArgumentCheck = (args: Json) => CallError | null;

/**
 * Compiles a tool's input schema (JSON Schema 2020-12, no code generation) into a check of its arguments. The check
 * takes anything and never throws; an argument that `properties` does not list is refused.
 */
export function compileArguments(schema: JsonObject): ArgumentCheck {
  const validator = compile(schema);
  const properties = isObject(schema.properties) ? schema.properties : {};
  return (args) => {
    if (!isObject(args)) return invalid('the arguments must be an object of named values');
    if (!isPlain(args)) return invalid('the arguments must be plain JSON data, not nested too deeply');
    const stranger = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
    if (stranger !== undefined) {
      const known = Object.keys(properties).join(', ') || 'none';
      return invalid(`there is no argument "${stranger}"; there are: ${known}`, stranger);
    }
    const { valid, errors } = validator.validate(args);
    return valid ? null : explain(errors, args, schema, properties);
  };
}

/** Checks any value against a schema: `null` where it fits, else what is wrong and where. For results and tests. */
export function compileValue(schema: JsonObject): (value: Json) => string | null {
  const validator = compile(schema);
  return (value) => {
    const { valid, errors } = validator.validate(value);
    const last = errors.at(-1);
    return valid ? null : `${last?.instanceLocation ?? '#'}: ${last?.error ?? 'does not fit'}`;
  };
}

function compile(schema: JsonObject): Validator {
  // The validator writes addresses into the schema it is given.
  return new Validator(structuredClone(schema) as Schema, '2020-12');
}

function invalid(message: string, argument?: string): CallError {
  return argument === undefined
    ? { code: 'invalid_argument', message }
    : { code: 'invalid_argument', message, argument };
}

function explain(
  errors: OutputUnit[],
  args: JsonObject,
  schema: JsonObject,
  properties: JsonObject,
): CallError {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.find((name) => typeof name === 'string' && !Object.hasOwn(args, name));
  if (typeof missing === 'string')
    return invalid(`argument "${missing}" is missing${hint(properties[missing])}`, missing);
  const place = errors.find((error) => error.instanceLocation !== '#')?.instanceLocation;
  if (place === undefined)
    return invalid(`the arguments do not fit: ${errors[0]?.error ?? 'schema not met'}`);
  const name = decodePointer(place.split('/')[1] ?? '');
  return invalid(
    `argument "${name}" does not fit: ${errors.at(-1)?.error ?? ''}${hint(properties[name])}`,
    name,
  );
}

function hint(property: Json | undefined): string {
  return isObject(property) && typeof property.description === 'string' ? ` (${property.description})` : '';
}

function decodePointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
}
