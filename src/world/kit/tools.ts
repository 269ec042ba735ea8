import { LabError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { CallError, ErrorCode, WorldTool } from '../kit.ts';
import { frozenCopy } from './data.ts';
import { type ArgumentCheck, compileArguments } from './validate.ts';

/** A tool's answer that it will not do what was asked. Returned, never thrown: what was written so far is forgotten. */
export class Refusal {
  readonly error: CallError;
  constructor(error: CallError) {
    this.error = Object.freeze(error);
  }
}

/** True for what a tool returns where it will not do what was asked. */
export function isRefusal(value: unknown): value is Refusal {
  return value instanceof Refusal;
}

/** Refuses a call. Errors of the caller name the argument that is to blame. */
export function refuse(code: ErrorCode, message: string, argument?: string): Refusal {
  return new Refusal(argument === undefined ? { code, message } : { code, message, argument });
}

/** What a tool sees of the world while it runs. Objects are frozen; what is read or written enters the audit log. */
export interface ToolContext {
  /** World time in hours. */
  readonly now: number;
  get(table: string, id: string): JsonObject | null;
  /** Objects that fit, in the order of their ids; only those that fit count as read. */
  select(table: string, fits: (object: JsonObject) => boolean): JsonObject[];
  put(table: string, id: string, object: JsonObject): void;
  /** Sets some fields of an object that exists. */
  patch(table: string, id: string, fields: JsonObject): JsonObject;
  remove(table: string, id: string): void;
  /** Lets time pass: hours ≥ 0. */
  advance(hours: number): void;
}

/** A tool with what it does. The arguments have passed the input schema. */
export interface ToolDefinition<Args extends JsonObject = JsonObject> extends WorldTool {
  run(args: Args, context: ToolContext): Json | Refusal;
}

/** A tool made ready: its declaration, its check and its body. */
export interface ReadyTool {
  declaration: WorldTool;
  check: ArgumentCheck;
  run(args: JsonObject, context: ToolContext): Json | Refusal;
}

/** The tools of a kind of world, compiled once for all its worlds. */
export interface Toolbox {
  readonly declarations: readonly WorldTool[];
  find(name: string): ReadyTool | undefined;
}

/**
 * Compiles the tools of a world.
 * @throws LabError on a name used twice or an input schema that does not describe an object.
 */
export function toolbox(tools: readonly ToolDefinition[]): Toolbox {
  const ready = new Map<string, ReadyTool>();
  for (const tool of tools) {
    const { run, ...declared } = tool;
    if (ready.has(tool.name)) {
      throw new LabError(`two tools are called "${tool.name}"`, {
        where: 'toolbox',
        remedy: 'rename one of them',
      });
    }
    if (tool.inputSchema.type !== 'object') {
      throw new LabError(`the input schema of "${tool.name}" does not describe an object`, {
        where: `${tool.name}.inputSchema`,
        remedy: 'give it type "object" and name the arguments under "properties"',
      });
    }
    const declaration: WorldTool = Object.freeze({
      ...declared,
      inputSchema: frozenCopy(tool.inputSchema),
      outputSchema: frozenCopy(tool.outputSchema),
    });
    ready.set(tool.name, { declaration, check: compileArguments(tool.inputSchema), run });
  }
  return {
    declarations: Object.freeze([...ready.values()].map((tool) => tool.declaration)),
    find: (name) => ready.get(name),
  };
}
