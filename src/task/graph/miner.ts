import type { Call, SourceRank, ToolSpec, Trajectory } from '../../trace/model.ts';
import type { ToolGraph } from '../model.ts';
import { assemble } from './assemble.ts';
import { fieldOf, isDistinctive } from './fields.ts';
import { isTelling, type Leaf, Leaves } from './leaves.ts';
import { blankEvidence, EvidenceLog, Interner, KINDS } from './log.ts';
import { type FilledOptions, fillOptions, type MinerOptions } from './options.ts';
import { canShowData, findData, findLoose, findRetry, findState, type Link, type Seen } from './rules.ts';
import { Counts, fromTool, KeySet, mixKey, Once } from './sketch.ts';
import { ToolTable } from './tools.ts';

/** Where a trajectory came from: what a witness is named by. */
export interface Origin {
  id: string;
  file: string;
  rank: SourceRank;
  source: SourceTally;
}

/** What one file of a source holds, before anything is decided. */
export interface SourceTally {
  source: string;
  path: string;
  trajectories: number;
  calls: number;
  pairs: number;
  loose: number;
}

/** A way for a value: where it comes from, where it goes, and into which argument. */
export interface BindingKey {
  source: string;
  target: string;
}

/** All that a corpus leaves behind: nodes, evidence, and how common values are. */
export interface Mined {
  table: ToolTable;
  log: EvidenceLog;
  texts: Interner;
  bindings: BindingKey[];
  origins: Origin[];
  /** By source and file. */
  sources: Map<string, SourceTally>;
  /** Results of a tool that hold a value, by `mixKey(hash, tool)`. */
  held: Counts;
  /** Trajectories in which a value stands in a slot, by `mixKey(hash, slot)`. */
  support: Counts;
  /** Later calls that set a slot afresh to a value: by the same key, and by that mixed with the earlier tool. */
  fresh: Counts;
  /** Values of fields that name objects. */
  identifiers: KeySet;
}

/** Longest text of a value or an error that a witness keeps. */
const LONGEST_WITNESS = 80;

/**
 * Mines a tool graph from trajectories given one at a time (ToolSpace, trace to graph). What is evidence is decided
 * at the end, when it is known how common each value is, so the graph does not depend on the order of trajectories.
 * Memory: tools, nodes, sketches of fixed size, and about 60 bytes and one short text for each piece of evidence.
 *
 * Pairs are adjacent calls of one caller that are no meta calls. Calls that tau2's simulated user makes on a device of
 * its own are a second sequence with tools of their own (`user:` before the name): the agent never sees
 * what they return, so a pair across callers would show a dependency that no caller had.
 */
export class GraphMiner {
  readonly #options: FilledOptions;
  readonly #mined: Mined;
  readonly #bindingNumbers = new Map<string, number>();
  readonly #inTrajectory = new Once();
  readonly #inResult = new Once();
  readonly #evidence = blankEvidence();
  #streams: Record<Call['caller'], [Seen | null, Seen | null]> = { agent: [null, null], user: [null, null] };
  #pairs = 0;

  /** @throws LabError on options outside their range. */
  constructor(options: MinerOptions = {}) {
    this.#options = fillOptions(options);
    this.#mined = {
      table: new ToolTable(this.#options.maxEnumerated),
      log: new EvidenceLog(),
      texts: new Interner(),
      bindings: [],
      origins: [],
      sources: new Map(),
      held: new Counts(),
      support: new Counts(),
      fresh: new Counts(),
      identifiers: new KeySet(),
    };
  }

  /** Takes in one trajectory. One without calls leaves no trace. */
  add(trajectory: Trajectory): void {
    const { turns, source } = trajectory;
    let tally: SourceTally | undefined;
    let specs: Map<string, ToolSpec> | null = null;
    const last: Record<Call['caller'], Seen | null> = { agent: null, user: null };
    let index = 0;
    for (const call of turns) {
      if (call.kind !== 'call' || call.meta) continue;
      const at = index++;
      if (!this.#options.callers.includes(call.caller)) continue;
      specs ??= new Map(trajectory.tools.map((spec) => [spec.name, spec]));
      tally ??= this.#open(trajectory, source);
      tally.calls++;
      const earlier = last[call.caller];
      const seen = this.#observe(call, specs.get(call.tool), at, source, earlier);
      last[call.caller] = seen;
      if (earlier) this.#pair(earlier, seen, tally);
    }
  }

  /** The graph of all trajectories so far. More may be added afterwards. */
  finish(): ToolGraph {
    return assemble(this.#mined, this.#options);
  }

  #open(trajectory: Trajectory, source: string): SourceTally {
    const key = JSON.stringify([source, trajectory.file]);
    let tally = this.#mined.sources.get(key);
    if (!tally) {
      tally = { source, path: trajectory.file, trajectories: 0, calls: 0, pairs: 0, loose: 0 };
      this.#mined.sources.set(key, tally);
    }
    tally.trajectories++;
    this.#mined.origins.push({
      id: trajectory.id,
      file: trajectory.file,
      rank: trajectory.rank,
      source: tally,
    });
    this.#inTrajectory.clear();
    return tally;
  }

  /** Places a call in its node and takes account of its values. */
  #observe(
    call: Call,
    spec: ToolSpec | undefined,
    index: number,
    source: string,
    earlier: Seen | null,
  ): Seen {
    const { table } = this.#mined;
    const seen = this.#blank(call, earlier);
    const effect = this.#options.effectOf(call, spec);
    seen.call = call;
    seen.tool = table.tool(call);
    seen.index = index;
    seen.writes = effect !== 'read';
    seen.node = table.place(seen.tool, call, spec, effect, source);
    seen.args.fill(call.args);
    seen.result.fill(call.result);
    this.#noteArguments(seen);
    if (call.error === null && call.result !== undefined) this.#noteResult(seen);
    return seen;
  }

  /** One of the caller's two records: the one that does not hold the earlier call. */
  #blank(call: Call, earlier: Seen | null): Seen {
    const stream = this.#streams[call.caller];
    const at = earlier !== null && stream[0] === earlier ? 1 : 0;
    let seen = stream[at];
    if (!seen) {
      const tool = this.#mined.table.tool(call);
      seen = {
        call,
        tool,
        node: 0,
        index: 0,
        writes: false,
        args: new Leaves(),
        result: new Leaves(),
        slots: [],
      };
      stream[at] = seen;
    }
    return seen;
  }

  #noteArguments({ tool, args, slots }: Seen): void {
    const { table, support, identifiers, origins } = this.#mined;
    const trajectory = origins.length - 1;
    slots.length = args.count;
    for (let i = 0; i < args.count; i++) {
      const step = args.step(i);
      const slot =
        args.isTop(i) && typeof step === 'string'
          ? table.topSlot(tool, step)
          : table.slot(tool, args.pattern(i, 1));
      slots[i] = slot;
      const value = args.values[i] as Leaf;
      const hash = args.hashes[i] as number;
      const field = fieldOf(args.field(i));
      if (field.identifier && canIdentify(value, hash)) identifiers.add(hash);
      if (!canShowData(value, field, this.#options.shortest)) continue;
      const key = mixKey(hash, slot.salt);
      if (!this.#inTrajectory.first(key)) continue;
      support.add(key);
      if (slot.last !== trajectory) {
        slot.last = trajectory;
        slot.trajectories++;
      }
    }
  }

  #noteResult({ tool, args, result }: Seen): void {
    const { held, identifiers } = this.#mined;
    tool.returned++;
    this.#inResult.clear();
    for (let i = 0; i < result.count; i++) {
      const value = result.values[i] as Leaf;
      const hash = result.hashes[i] as number;
      if (Number.isNaN(hash) || !this.#inResult.first(hash)) continue;
      if (isTelling(value, this.#options.shortest)) held.add(mixKey(hash, tool.salt));
      if (fieldOf(result.field(i)).identifier && canIdentify(value, hash)) identifiers.add(hash);
    }
    tool.args = [Math.min(tool.args[0], args.digest), Math.max(tool.args[1], args.digest)];
    tool.results = [Math.min(tool.results[0], result.digest), Math.max(tool.results[1], result.digest)];
  }

  /** Tests a pair of adjacent calls and logs what it shows. */
  #pair(earlier: Seen, later: Seen, tally: SourceTally): void {
    const { table, fresh, log } = this.#mined;
    tally.pairs++;
    const node = table.nodes[earlier.node];
    if (node) node.pairs++;
    const pair = this.#pairs++;
    const e = this.#evidence;
    e.pair = pair;
    e.trajectory = this.#mined.origins.length - 1;
    e.from = earlier.index;
    e.to = later.index;
    e.start = earlier.node;
    e.end = later.node;
    const data = findData(earlier, later, this.#options.shortest, (target, traced) => {
      const slot = later.slots[target];
      if (!slot) return;
      slot.fresh++;
      if (traced) slot.traced++;
      const key = mixKey(later.args.hashes[target] as number, slot.salt);
      fresh.add(key);
      fresh.add(fromTool(key, earlier.tool.salt));
    });
    for (const link of data) this.#log(earlier, later, link, 'data');
    if (this.#options.loose !== 'off') {
      const loose = data.length > 0 ? null : findLoose(earlier, later, this.#options.shortest);
      if (data.length > 0 || loose) tally.loose++;
      if (loose && this.#options.loose === 'edges') this.#log(earlier, later, loose, 'data');
    }
    for (const link of findState(earlier, later)) this.#log(earlier, later, link, 'state');
    const retry = findRetry(earlier, later);
    if (retry) {
      e.kind = KINDS.indexOf('retry');
      e.binding = -1;
      e.slot = -1;
      e.ifIdentifier = 0;
      e.unless = -1;
      e.source = this.#mined.texts.number(cut(earlier.call.error ?? ''));
      e.target = this.#mined.texts.number(retry.path);
      log.add(e, Number.NaN, cut(retry.value));
    }
  }

  #log(earlier: Seen, later: Seen, link: Link, kind: 'data' | 'state'): void {
    const { texts, log } = this.#mined;
    const e = this.#evidence;
    const leaves = earlier[link.side];
    const prefix = link.side === 'args' ? 'args.' : '';
    e.kind = KINDS.indexOf(kind);
    e.ifIdentifier = link.ifIdentifier ? 1 : 0;
    e.unless = link.unless === null ? -1 : texts.number(link.unless);
    e.slot = (later.slots[link.target] as Seen['slots'][number]).id;
    e.source = texts.number(prefix + leaves.path(link.source));
    e.target = texts.number(later.args.path(link.target));
    e.binding = this.#binding(
      prefix + leaves.pattern(link.source, link.side === 'args' ? 1 : 0),
      later.args.pattern(link.target, 1),
    );
    log.add(e, later.args.hashes[link.target] as number, cut(String(later.args.values[link.target])));
  }

  #binding(source: string, target: string): number {
    const key = `${target}\n${source}`;
    let number = this.#bindingNumbers.get(key);
    if (number === undefined) {
      number = this.#mined.bindings.length;
      this.#mined.bindings.push({ source, target });
      this.#bindingNumbers.set(key, number);
    }
    return number;
  }
}

/** Whole numbers below 100,000 are ids of too many things to be remembered as one. */
function canIdentify(value: Leaf, hash: number): boolean {
  if (Number.isNaN(hash) || typeof value === 'boolean') return false;
  return typeof value === 'string' || isDistinctive(value);
}

function cut(text: string): string {
  return text.length > LONGEST_WITNESS ? text.slice(0, LONGEST_WITNESS) : text;
}

/** Mines a graph from trajectories in one go: the same as adding each to a `GraphMiner`. */
export function mine(trajectories: Iterable<Trajectory>, options: MinerOptions = {}): ToolGraph {
  const miner = new GraphMiner(options);
  for (const trajectory of trajectories) miner.add(trajectory);
  return miner.finish();
}
