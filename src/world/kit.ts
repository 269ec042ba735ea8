import type { Json, JsonObject } from '../base/json.ts';
import type { Rng } from '../base/rng.ts';
import type { Effect, ToolSpec, Trajectory } from '../trace/model.ts';
import type { Language } from './language.ts';

/** Why a call was refused. `timeout` and `rate_limit` are the environment's failure, the others the caller's. */
export type ErrorCode =
  | 'unknown_tool'
  | 'invalid_argument'
  | 'not_found'
  | 'conflict'
  | 'forbidden'
  | 'timeout'
  | 'rate_limit';

export interface CallError {
  code: ErrorCode;
  message: string;
  /** The offending argument, where there is one. */
  argument?: string;
}

/** What a call returns. A refused call changes nothing. */
export type Observation = { ok: true; value: Json } | { ok: false; error: CallError };

/** A tool of a world: declared as MCP declares it, plus its effect. */
export interface WorldTool extends ToolSpec {
  outputSchema: JsonObject;
  effect: Effect;
}

/** An immutable state of a world. Opaque; O(1) to take and to restore. */
export interface Snapshot {
  readonly world: string;
  /** Digest of the content (equal content ⇒ equal digest), computed on demand and kept. */
  digest(): string;
}

/** One object that differs between two snapshots; `null` where it does not exist on that side. */
export interface Change {
  table: string;
  id: string;
  before: JsonObject | null;
  after: JsonObject | null;
}

/** One entry of the audit log. */
export interface LogEntry {
  tool: string;
  args: JsonObject;
  observation: Observation;
  /** Objects read or written, as `table:id`. */
  touched: string[];
}

/** Chance that a call fails through no fault of the caller, by effect of the tool. 0 = never. */
export interface Noise {
  read: number;
  write: number;
}

/** A running world. All state is plain JSON data in tables of objects keyed by id. */
export interface World {
  readonly id: string;
  readonly tools: readonly WorldTool[];
  /** World time in hours since its epoch; part of the state. */
  now(): number;
  /** Runs one tool. Validates the arguments first; never throws on bad input. */
  call(tool: string, args: Json): Observation;
  snapshot(): Snapshot;
  /** Back to `snapshot` (of this world), the log cut back with it. */
  restore(snapshot: Snapshot): void;
  /** Objects that differ, in O(changes between the two). */
  diff(before: Snapshot, after: Snapshot): Change[];
  /** An object as it stands now, `null` where there is none. */
  object(table: string, id: string): JsonObject | null;
  /** All ids of a table, in a fixed order. */
  ids(table: string): string[];
  readonly log: readonly LogEntry[];
}

/** A kind of world: what it is made of and how it is made. */
export interface WorldDefinition {
  id: string;
  title: string;
  description: string;
  tools: readonly WorldTool[];
  /** A fresh world; equal seeds give equal worlds. Noise draws from the same seed. */
  create(seed: number | string, noise?: Noise): World;
  /** Words for requests: how fields, objects and intents are called in plain English. */
  lexicon: Lexicon;
  /** The closed-vocabulary token language in which a policy speaks to this world. */
  language: Language;
  /** Traces of the scripted expert and novice, executed in the world (`source` = the world's id). */
  corpus(options: { seed: number; trajectories: number; noviceShare: number }): Generator<Trajectory>;
}

/** Names of things, so that a request can be phrased without naming tools. */
export interface Lexicon {
  /** Object type → noun: `ticket` → "ticket". */
  objects: Record<string, string>;
  /** Field → noun phrase: `owner` → "owner", `email` → "e-mail address". */
  fields: Record<string, string>;
  /** Write tool → phrase with `{argument}` slots: `close_ticket` → "close {ticket}". Several to choose from. */
  intents: Record<string, string[]>;
}

/** A source of noise that never fails: replay and evaluation run without noise. */
export const QUIET: Noise = { read: 0, write: 0 };

/** Draws whether the environment fails this call. */
export function drawFailure(rng: Rng, noise: Noise, effect: Effect): CallError | null {
  if (!rng.chance(effect === 'read' ? noise.read : noise.write)) return null;
  return rng.chance(0.5)
    ? { code: 'timeout', message: 'the service did not answer in time; nothing was changed' }
    : { code: 'rate_limit', message: 'too many calls; nothing was changed; try again' };
}
