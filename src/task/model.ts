import type { Json, JsonObject } from '../base/json.ts';
import type { Effect, SourceRank } from '../trace/model.ts';
import type { Observation } from '../world/kit.ts';
import type { Ref, Request } from '../world/request.ts';

export type EdgeKind = 'data' | 'state' | 'retry';

/** One adjacent pair of calls that shows an edge. Indices count a trajectory's non-meta calls from 0. */
export interface Witness {
  trajectory: string;
  file: string;
  from: number;
  to: number;
  /**
   * Path of the value inside the earlier result (data); of the object's id, `args.` before it where it stands in the earlier
   * call's arguments and not in its result (state); the error text (retry).
   */
  source: string;
  /** Path inside the later call's arguments. */
  target: string;
  /** The value that flowed, cut to 80 characters. */
  value: string;
}

/** A tool with its normalised argument configuration: which arguments are set, and the values of enumerated ones. */
export interface GraphNode {
  id: number;
  /** `tool{arg,arg=value}`: unique, stable across runs. */
  key: string;
  tool: string;
  /** Names of the arguments that are set; enumerated ones as `name=value`. */
  configuration: string[];
  effect: Effect;
  /** Calls seen. */
  calls: number;
  /** Calls that failed. */
  errors: number;
  /** Adjacent pairs that start here: N_i. */
  pairs: number;
  /** Calls by source id. */
  sources: Record<string, number>;
  /** Index into `clusters`. */
  cluster: number;
}

/** A witnessed dependency. */
export interface GraphEdge {
  from: number;
  to: number;
  kind: EdgeKind;
  /** Pairs that show it: N_ij. */
  count: number;
  /** w = N_ij / N_i (ToolSpace §Method: transition frequency). */
  weight: number;
  /** Pairs by rank of their source. */
  ranks: Partial<Record<SourceRank, number>>;
  /**
   * Which path filled which argument, with counts; what a walk uses to fill arguments. Paths are written as a witness's are,
   * with `[*]` for any element. A retry has none.
   */
  bindings: { source: string; target: string; count: number }[];
  /** All witnesses up to a cap stated by the miner; `count` is exact. */
  witnesses: Witness[];
}

/** An environment: tools that hang together. */
export interface Cluster {
  name: string;
  kind: 'operational' | 'query' | 'stateless';
  tools: string[];
}

/** Counts of one file of a source, over the calls that are mined: meta calls are left out. */
export interface SourceCounts {
  /** Format that it was read in. */
  source: string;
  path: string;
  trajectories: number;
  calls: number;
  pairs: number;
  /** Pairs that show an edge of the kind, before rare edges are cut. */
  edges: Record<EdgeKind, number>;
  /** Pairs in which a value of the earlier result, or a part of its text, stands in the later arguments. */
  loose?: number;
}

/** The tool composition graph G = (V, E, w). Plain data. */
export interface ToolGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  clusters: Cluster[];
  sources: SourceCounts[];
  /** Edges cut, by reason, as `rare`. */
  pruned: Record<string, number>;
}

/** A call as it was executed in a world, with where each argument came from. */
export interface ChainCall {
  tool: string;
  args: JsonObject;
  observation: Observation;
  /** Graph node. */
  node: number;
  /** Edge by which the walk came here: kind and index into `edges`; `null` at the start. */
  edge: { kind: EdgeKind; index: number } | null;
  provenance: Record<string, Provenance>;
}

/** Where an argument came from. `path` is inside the observation. */
export type Provenance = { from: 'observation'; call: number; path: string } | { from: 'request'; ref: Ref };

/** What a walk does, a move at a time: enough to draw it. */
export type WalkMove =
  | { type: 'start'; walk: number; node: number; seed: number }
  | { type: 'step'; walk: number; from: number; to: number; edge: number; call: string; ok: true }
  | { type: 'rollback'; walk: number; from: number; to: number; edge: number; call: string; reason: string }
  | { type: 'chain'; walk: number; length: number }
  | { type: 'dropped'; walk: number; reason: string };

/** Final state: the object must stand so (only the listed fields are compared); `null`: it must not exist. */
export interface StateAssertion {
  table: string;
  id: string;
  fields: JsonObject | null;
}

/** Key intermediate snapshots, in order: after the k-th write the state has changed exactly so. */
export interface TraceAssertion {
  /** Position of the write in the reference chain. */
  call: number;
  changes: StateAssertion[];
}

/** A value that the answer must hold: the value of `what` in the reference run. */
export interface OutAssertion {
  what: Ref;
  value: Json;
}

/** V = V_state ∪ V_trace ∪ V_out. Objects that no assertion names must be as in s0. */
export interface Assertions {
  state: StateAssertion[];
  trace: TraceAssertion[];
  out: OutAssertion[];
}

/** A verified task: world and seed give s0, the request says what to do, the chain shows one way. Plain data. */
export interface Task {
  /** Hash of the content: equal tasks have equal ids. */
  id: string;
  world: string;
  worldSeed: string;
  request: Request;
  /** The request in plain English: no tool names, no call order. */
  text: string;
  chain: ChainCall[];
  assertions: Assertions;
  /** Goal shape without identifiers (intents, paths): tasks of one shape differ only in their objects. */
  shape: string;
}

/** What a verifier found. */
export interface Verdict {
  task: string;
  passed: boolean;
  /** Each failed assertion in a sentence. */
  failures: string[];
  /** Who is to blame for the failures, where there are any: a timeout or a broken world is not the agent's fault. */
  fault?: 'agent' | 'environment';
}
