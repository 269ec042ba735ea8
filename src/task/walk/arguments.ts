import { isObject, type Json, type JsonObject } from '../../base/json.ts';
import type { WorldTool } from '../../world/kit.ts';
import type { Objects } from './objects.ts';

/** What may be written for an argument: identifiers of objects of these types, constants, or nothing that is known. */
export type Domain =
  | { kind: 'objects'; types: string[] }
  | { kind: 'constants'; values: Json[] }
  | { kind: 'open' };

/** The largest integer range that counts as a finite set of constants. */
const LARGEST_RANGE = 64;

/** The JSON Schema of one argument; an empty schema where the tool does not declare it. */
export function argumentSchema(tool: WorldTool, name: string): JsonObject {
  const properties = tool.inputSchema.properties;
  const schema = isObject(properties) ? properties[name] : undefined;
  return isObject(schema) ? schema : {};
}

/**
 * What may be written for an argument, from its schema and the objects of the world: an argument named after an object
 * type takes its identifiers; an enumeration or a pattern that admits identifiers takes those; other enumerations,
 * booleans and short integer ranges are constants, and so are values of fields (addresses) that fit a pattern. Free text
 * is open: it can only come from an observation.
 */
export function domainOf(tool: WorldTool, name: string, objects: Objects): Domain {
  const schema = argumentSchema(tool, name);
  if (objects.ids(name).length > 0) return { kind: 'objects', types: [name] };
  if (Array.isArray(schema.enum)) {
    const listed = new Set(schema.enum);
    const types = typesWith(objects, (id) => listed.has(id));
    return types.length > 0 ? { kind: 'objects', types } : { kind: 'constants', values: schema.enum };
  }
  if ('const' in schema) return { kind: 'constants', values: [schema.const as Json] };
  if (typeof schema.pattern === 'string') {
    const pattern = new RegExp(schema.pattern);
    const types = typesWith(objects, (id) => pattern.test(id));
    if (types.length > 0) return { kind: 'objects', types };
    const values = fieldValues(objects, (value) => pattern.test(value));
    return values.length > 0 ? { kind: 'constants', values } : { kind: 'open' };
  }
  if (schema.type === 'boolean') return { kind: 'constants', values: [true, false] };
  const { minimum, maximum } = schema;
  if (schema.type === 'integer' && typeof minimum === 'number' && typeof maximum === 'number') {
    const size = Math.floor(maximum) - Math.ceil(minimum) + 1;
    if (size >= 1 && size <= LARGEST_RANGE) {
      return { kind: 'constants', values: Array.from({ length: size }, (_, i) => Math.ceil(minimum) + i) };
    }
  }
  return { kind: 'open' };
}

/** Types of which some identifier passes. */
function typesWith(objects: Objects, passes: (id: string) => boolean): string[] {
  return objects.types.filter((type) => objects.ids(type).some(passes));
}

/** Texts in the fields of objects that pass, each once. */
function fieldValues(objects: Objects, passes: (value: string) => boolean): string[] {
  const values = new Set<string>();
  for (const type of objects.types) {
    for (const id of objects.ids(type)) {
      for (const value of Object.values(objects.find(id)?.fields ?? {})) {
        if (typeof value === 'string' && passes(value)) values.add(value);
      }
    }
  }
  return [...values];
}

/** The value that a node's configuration writes as text, read by the argument's declared type. */
export function fixedValue(tool: WorldTool, name: string, text: string): Json {
  const schema = argumentSchema(tool, name);
  if (Array.isArray(schema.enum)) {
    const listed = schema.enum.find((value) => String(value) === text);
    if (listed !== undefined) return listed;
  }
  if (schema.type === 'boolean') return text === 'true';
  if (schema.type === 'number' || schema.type === 'integer') return Number(text);
  return text;
}
