import { LabError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { WorldTool } from '../kit.ts';

/** How a JSON value is laid out in tokens: a single token, the fields of an object in order, or items up to a close. */
export type Shape =
  | { kind: 'value' }
  | { kind: 'object'; fields: [name: string, shape: Shape][] }
  | { kind: 'list'; item: Shape };

/** The arguments of a tool in the order in which they are said. */
export interface Signature {
  required: Argument[];
  optional: Argument[];
}

export interface Argument {
  name: string;
  /** A list of single values, up to `most` of them; else one value. */
  list: boolean;
  most: number;
}

/** Longest list argument where the schema sets no `maxItems`. */
const LIST_LIMIT = 4;

/**
 * How the results of a tool are laid out, from its output schema.
 * @throws LabError on a field that may be absent: a fixed order has no room for it.
 */
export function shapeOf(schema: Json | undefined, where: string): Shape {
  if (!isObject(schema)) return { kind: 'value' };
  if (schema.type === 'array') return { kind: 'list', item: shapeOf(schema.items, `${where}.items`) };
  if (!isObject(schema.properties)) return { kind: 'value' };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties).map(([name, field]): [string, Shape] => {
    if (!required.includes(name)) {
      throw new LabError(`the field "${name}" may be absent`, {
        where,
        remedy: 'list it under "required" and let it be null',
      });
    }
    return [name, shapeOf(field, `${where}.${name}`)];
  });
  return { kind: 'object', fields };
}

/**
 * The arguments of a tool, from its input schema: single values and lists of them.
 * @throws LabError on an argument that is an object.
 */
export function signatureOf(tool: WorldTool): Signature {
  const schema = tool.inputSchema;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const all = Object.entries(properties).map(([name, property]): Argument => {
    const shape = shapeOf(property, `${tool.name}.inputSchema.${name}`);
    if (shape.kind === 'object' || (shape.kind === 'list' && shape.item.kind !== 'value')) {
      throw new LabError(`the argument "${name}" is no single value and no list of them`, {
        where: tool.name,
        remedy: 'flatten it into several arguments',
      });
    }
    const most = isObject(property) && typeof property.maxItems === 'number' ? property.maxItems : LIST_LIMIT;
    return { name, list: shape.kind === 'list', most };
  });
  return {
    required: all.filter(({ name }) => required.includes(name)),
    optional: all.filter(({ name }) => !required.includes(name)),
  };
}

/** Names of all fields and arguments of a tool's schemas, at any depth. */
export function fieldNames(tool: WorldTool): string[] {
  const names: string[] = [];
  eachSchema(tool, (schema) => {
    if (isObject(schema.properties)) names.push(...Object.keys(schema.properties));
  });
  return names;
}

/** Values that a tool's schemas spell out: enumerated ones and constants, booleans, and null where it may occur. */
export function spelledValues(tool: WorldTool): Json[] {
  const values: Json[] = [];
  eachSchema(tool, (schema) => {
    if (Array.isArray(schema.enum)) values.push(...schema.enum);
    if (schema.const !== undefined) values.push(schema.const);
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (types.includes('boolean')) values.push(false, true);
    if (types.includes('null')) values.push(null);
  });
  return values;
}

function eachSchema(tool: WorldTool, visit: (schema: JsonObject) => void): void {
  const walk = (schema: Json | undefined) => {
    if (!isObject(schema)) return;
    visit(schema);
    if (isObject(schema.properties)) Object.values(schema.properties).forEach(walk);
    walk(schema.items);
  };
  walk(tool.inputSchema);
  walk(tool.outputSchema);
}
