import type { Json } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import { effectOfAnnotations } from './effect.ts';
import type { ToolSpec } from './model.ts';
import { objectField, stringField } from './values.ts';

/**
 * A tool declaration as formats carry it: MCP (`{name, inputSchema, annotations}`), OpenAI (`{type: "function",
 * function: {name, parameters}}` or the bare function), Anthropic (`{name, input_schema}`). Null where it has no name.
 * @param server put before the name as `server/`, where known.
 */
export function readToolSpec(declaration: Json, server?: string): ToolSpec | null {
  if (!isObject(declaration)) return null;
  const body = isObject(declaration.function) ? declaration.function : declaration;
  const name = stringField(body, 'name');
  if (!name) return null;
  const spec: ToolSpec = {
    name: server ? `${server}/${name}` : name,
    description: stringField(body, 'description') ?? '',
    inputSchema: [body.inputSchema, body.parameters, body.input_schema].find(isObject) ?? { type: 'object' },
  };
  if (isObject(body.outputSchema)) spec.outputSchema = body.outputSchema;
  const effect = effectOfAnnotations(objectField(body, 'annotations'));
  if (effect) spec.effect = effect;
  return spec;
}

/** The declarations of a list that can be read. */
export function readToolSpecs(declarations: Json | undefined, server?: string): ToolSpec[] {
  if (!Array.isArray(declarations)) return [];
  return declarations.map((one) => readToolSpec(one, server)).filter((spec) => spec !== null);
}
