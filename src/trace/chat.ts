import { LabError } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import type { Outcome, TrajectoryBuilder } from './builder.ts';
import { softError } from './failure.ts';
import type { Call, Message, Place } from './model.ts';
import { inside } from './place.ts';
import { contentText, listField, parseArguments, parseText, stringField } from './values.ts';

/** A call as the canonical model has it. */
export interface NamedCall {
  tool: string;
  args: JsonObject;
  meta: boolean;
}

/** How one user of OpenAI's chat messages differs from the plain form. */
export interface ChatDialect {
  /** @throws LabError where the call cannot be read. */
  nameCall(name: string, args: JsonObject): NamedCall;
  outcome(content: string, message: JsonObject): Outcome;
}

const ROLES: Record<string, Message['role']> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  assistant: 'agent',
  model: 'agent',
};

/** True for something that can only be a chat message: a role of OpenAI's and a content or a call. */
export function isChatMessage(value: Json): value is JsonObject {
  if (!isObject(value)) return false;
  const role = stringField(value, 'role') ?? '';
  const known = Object.hasOwn(ROLES, role) || role === 'tool' || role === 'function';
  return known && ['content', 'tool_calls', 'function_call'].some((key) => Object.hasOwn(value, key));
}

/** What a tool that has no error flag said: its text, parsed; an error where the text speaks of one. */
export function plainOutcome(content: string): Outcome {
  const result = parseText(content);
  return { result, error: softError(result) };
}

/** Reads messages in order; one that cannot be read is reported and the rest is kept. `place` is that of the list. */
export function readChatMessages(
  builder: TrajectoryBuilder,
  messages: readonly Json[],
  place: Place,
  dialect: ChatDialect,
): void {
  messages.forEach((message, i) => {
    readChatMessage(builder, message, inside(place, `[${i}]`), dialect);
  });
}

/**
 * Reads one chat message into a trajectory: text, calls (`tool_calls` as OpenAI or as tau2 has them, the older
 * `function_call`, Anthropic's `tool_use` blocks) and results (roles `tool` and `function`, `tool_result` blocks).
 * What cannot be read is reported to the builder.
 */
export function readChatMessage(
  builder: TrajectoryBuilder,
  message: Json,
  place: Place,
  dialect: ChatDialect,
): void {
  builder.beginMessage();
  if (!isObject(message) || typeof message.role !== 'string') {
    builder.skipMessage(place, 'expected a message with a role');
    return;
  }
  if (message.role === 'tool' || message.role === 'function') {
    const id = stringField(message, 'tool_call_id') ?? stringField(message, 'id');
    builder.answer(id, dialect.outcome(contentText(message.content), message), place);
    return;
  }
  const role = Object.hasOwn(ROLES, message.role) ? ROLES[message.role] : undefined;
  if (role === undefined) {
    builder.skipMessage(place, `a message with the unknown role “${message.role.slice(0, 40)}”`);
    return;
  }
  if (Array.isArray(message.content)) {
    message.content.forEach((block, i) => {
      readBlock(builder, block, role, inside(place, `content[${i}]`), dialect);
    });
  } else {
    builder.say(role, contentText(message.content));
  }
  listField(message, 'tool_calls').forEach((call, i) => {
    readCall(builder, call, inside(place, `tool_calls[${i}]`), dialect);
  });
  if (isObject(message.function_call)) {
    readCall(builder, { function: message.function_call }, inside(place, 'function_call'), dialect);
  }
}

function readBlock(
  builder: TrajectoryBuilder,
  block: Json,
  role: Message['role'],
  place: Place,
  dialect: ChatDialect,
): void {
  if (isObject(block) && block.type === 'tool_use') {
    readCall(
      builder,
      { id: block.id ?? null, name: block.name ?? null, arguments: block.input ?? null },
      place,
      dialect,
    );
  } else if (isObject(block) && block.type === 'tool_result') {
    builder.answer(stringField(block, 'tool_use_id'), flaggedOutcome(block.content, block.is_error), place);
  } else {
    builder.say(role, contentText([block]));
  }
}

/** An outcome whose source has an error flag: what it says holds. */
export function flaggedOutcome(content: Json | undefined, failed: Json | undefined): Outcome {
  const text = contentText(content);
  const result = parseText(text);
  return { result, error: failed === true ? text || 'failed without a word' : null };
}

/** Reads `{id, function: {name, arguments}}` or `{id, name, arguments, requestor}`; what cannot be read is skipped and reported. */
function readCall(builder: TrajectoryBuilder, call: Json, place: Place, dialect: ChatDialect): void {
  const outer = isObject(call) ? call : {};
  const body = isObject(outer.function) ? outer.function : outer;
  const id = stringField(outer, 'id');
  const name = stringField(body, 'name');
  if (!name) {
    builder.skipCall(id, place, 'a call without the name of a tool');
    return;
  }
  const caller: Call['caller'] = outer.requestor === 'user' ? 'user' : 'agent';
  try {
    const named = dialect.nameCall(name, parseArguments(body.arguments));
    builder.call({
      id,
      caller,
      place,
      ...named,
      tool: caller === 'user' ? `user/${named.tool}` : named.tool,
    });
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    builder.skipCall(id, place, `the call of “${name}” cannot be read (${error.message})`);
  }
}
