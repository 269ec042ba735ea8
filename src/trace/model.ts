import type { Json, JsonObject } from '../base/json.ts';

/** What a call does to the world: MCP's annotations, reduced to the three cases that matter for replay. */
export type Effect = 'read' | 'write' | 'irreversible';

/** How real a trajectory is (ToolSpace, trace collection): real servers, real workspaces, synthetic. */
export type SourceRank = 'server' | 'workspace' | 'synthetic';

/** A tool as MCP servers declare it. Schemas are JSON Schema objects. */
export interface ToolSpec {
  name: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  /** Absent where the source does not say. */
  effect?: Effect;
}

/** Where in a file something stands. Lines count from 1. */
export interface Place {
  file: string;
  line?: number;
  /** Path inside the record, as `messages[3].tool_calls[0].function`. */
  field?: string;
}

/** One tool call with what came back. */
export interface Call {
  kind: 'call';
  /** Unique inside its trajectory (made up, or suffixed, where the file repeats one). */
  id: string;
  /** Canonical name; `server/tool` where a server is known. */
  tool: string;
  args: JsonObject;
  /** What came back, parsed where it was JSON; `undefined` where no result was recorded. */
  result: Json | undefined;
  /** Why it failed, in the source's words; `null` where it succeeded. */
  error: string | null;
  /** Who called: tau2's simulated user calls tools of its own. */
  caller: 'agent' | 'user';
  /** Discovery, thinking, planning, hand-over: says nothing about tool dependencies. */
  meta: boolean;
  place: Place;
}

/** Something said. Text is data: it is shown as text and never as HTML. */
export interface Message {
  kind: 'message';
  role: 'system' | 'user' | 'agent';
  text: string;
}

export type Turn = Message | Call;

/** One attempt at one task. */
export interface Trajectory {
  id: string;
  /** Id of the format it was read from, or `desk` … for the lab's own worlds. */
  source: string;
  rank: SourceRank;
  file: string;
  turns: Turn[];
  tools: ToolSpec[];
  /** Outcome as the source scored it; `null` where it did not. */
  reward: number | null;
}

/** The calls of a trajectory, in order. */
export function callsOf(trajectory: Trajectory): Call[] {
  return trajectory.turns.filter((turn) => turn.kind === 'call');
}

/** Something that could not be read: what, where, and what was expected. Never stops the other files. */
export interface Rejection {
  path: string;
  /** `line 214`, `simulations[3].messages[2].tool_calls`, `byte 4096` … */
  where: string;
  reason: string;
}
