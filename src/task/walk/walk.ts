import { LabError } from '../../base/errors.ts';
import { canonicalJson } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { Change, Lexicon, Observation, Snapshot, World, WorldTool } from '../../world/kit.ts';
import type { ChainCall, EdgeKind, GraphNode, ToolGraph, WalkMove } from '../model.ts';
import { type Filling, fill, refill, type Surroundings } from './fill.ts';
import { type GraphIndex, indexGraph, type Way } from './index.ts';
import { Objects } from './objects.ts';
import { type Walked, type WalkOptions, walkOptions } from './options.ts';
import { valueAt } from './path.ts';

/** Where a walk is bound: a world that stands at s0, and its words. */
export interface Bound {
  world: World;
  lexicon: Lexicon;
  /** Number of the walk, for its moves. */
  walk: number;
}

/** A neighbour that could come next. */
interface Candidate {
  way: Way;
  weight: number;
  /** The failed call that a retry edge answers. */
  after: Filling | null;
}

/**
 * State-aware random walk with rollback (ToolSpace, Cross-Environment Verifiable Task Synthesis): from s0, among the
 * neighbours whose next input can be filled, one is drawn with P(v | v_t) = w(v_t, v) / Σ_u w(v_t, u) and executed. A
 * refused call, or one after which the state does not match the meaning of the edge, takes the world back to s_{t−1};
 * another neighbour is drawn without it. Retry edges lead on only from a call that failed. The walk ends at L calls, at
 * a node that leads nowhere, or is dropped after `maxTries` failures. The world is left at the end of the chain.
 */
export function* walk(
  bound: Bound,
  graph: ToolGraph,
  rng: Rng,
  given: Partial<WalkOptions> = {},
): Generator<WalkMove, Walked> {
  return yield* new Walker(bound, graph, rng, walkOptions(given)).run();
}

class Walker {
  readonly #world: World;
  readonly #walk: number;
  readonly #index: GraphIndex;
  readonly #options: WalkOptions;
  readonly #rng: Rng;
  readonly #around: Surroundings;
  readonly #chain: ChainCall[] = [];
  readonly #clusters = new Set<number>();
  /** Objects that the last call of the chain touched. */
  #touched: readonly string[] = [];
  #executed = 0;
  #failed = 0;

  constructor(bound: Bound, graph: ToolGraph, rng: Rng, options: WalkOptions) {
    if (graph.nodes.length === 0) {
      throw new LabError('the graph has no nodes', {
        where: 'walk',
        remedy: 'mine a graph from a corpus of this world',
      });
    }
    this.#world = bound.world;
    this.#walk = bound.walk;
    this.#index = indexGraph(graph);
    this.#options = options;
    this.#rng = rng;
    this.#around = {
      index: this.#index,
      chain: this.#chain,
      rng,
      ...knownOf(bound),
    };
  }

  *run(): Generator<WalkMove, Walked> {
    const [shortest, longest] = this.#options.length;
    const length = shortest + this.#rng.int(longest - shortest + 1);
    let ended = yield* this.#start();
    while (ended === null && this.#chain.length < length) ended = yield* this.#step();
    if (this.#chain.length < shortest || ended?.fatal) {
      const reason = ended?.reason ?? 'the chain is too short';
      yield { type: 'dropped', walk: this.#walk, reason };
      return { chain: [], dropped: reason, executed: this.#executed, failed: this.#failed };
    }
    yield { type: 'chain', walk: this.#walk, length: this.#chain.length };
    return { chain: [...this.#chain], dropped: null, executed: this.#executed, failed: this.#failed };
  }

  /** Draws a start whose arguments can be filled, until one is accepted. */
  *#start(): Generator<WalkMove, Ended | null> {
    const { nodes } = this.#index.graph;
    const excluded = new Set<number>();
    for (;;) {
      const weights = nodes.map((node) =>
        excluded.has(node.id)
          ? 0
          : this.#options.weights === 'uniform'
            ? 1
            : Math.max(0, node.calls - node.errors),
      );
      const node = nodes[this.#rng.weighted(weights)];
      if (!node) return { reason: 'no call can be made from s0', fatal: true };
      excluded.add(node.id);
      const filling = fill(this.#around, node, null);
      if (typeof filling === 'string') continue;
      const before = this.#world.snapshot();
      const observation = this.#execute(node, filling);
      if (observation.ok && !this.#idle(node, before)) {
        this.#accept(node, filling, observation, null);
        yield { type: 'start', walk: this.#walk, node: node.id, seed: this.#walk };
        return null;
      }
      const ended = this.#fail(observation.ok ? before : null);
      if (ended) return ended;
    }
  }

  /** One step of the walk: draws neighbours until one is accepted. */
  *#step(): Generator<WalkMove, Ended | null> {
    const here = this.#chain.at(-1) as ChainCall;
    const before = this.#world.snapshot();
    const hopeless = new Set<string>();
    let candidates: Candidate[] = (this.#index.onward[here.node] ?? []).map((way) =>
      this.#candidate(way, null),
    );
    for (;;) {
      const drawn = candidates[this.#rng.weighted(candidates.map(({ weight }) => weight))];
      if (!drawn) return { reason: 'no neighbour can be filled and executed', fatal: false };
      candidates = candidates.filter((one) => one !== drawn);
      const { index, edge } = drawn.way;
      const node = this.#index.graph.nodes[edge.to] as GraphNode;
      if (!this.#allowed(node)) continue;
      const filling = drawn.after
        ? refill(this.#around, node, drawn.after)
        : fill(this.#around, node, drawn.way);
      if (typeof filling === 'string' || this.#repeats(node, filling)) continue;
      const call = describeCall(node.tool, filling);
      if (hopeless.has(call)) continue;
      const observation = this.#execute(node, filling);
      const reason = observation.ok ? this.#mismatch(drawn.way, filling, before) : observation.error.message;
      const move = { walk: this.#walk, from: edge.from, to: edge.to, edge: index, call };
      if (observation.ok && reason === null) {
        this.#accept(node, filling, observation, { kind: edge.kind, index });
        yield { type: 'step', ...move, ok: true };
        return null;
      }
      const ended = this.#fail(observation.ok ? before : null);
      yield { type: 'rollback', ...move, reason: reason ?? 'the call was refused' };
      if (ended) return ended;
      if (!observation.ok) {
        if (!isEnvironmental(observation.error.code)) hopeless.add(call);
        for (const way of this.#index.retries[node.id] ?? []) candidates.push(this.#candidate(way, filling));
      }
    }
  }

  #candidate(way: Way, after: Filling | null): Candidate {
    return { way, after, weight: this.#options.weights === 'uniform' ? 1 : way.edge.weight };
  }

  #allowed(node: GraphNode): boolean {
    return this.#clusters.has(node.cluster) || this.#clusters.size < this.#options.environments;
  }

  /** A read that the chain has made already tells nothing new. */
  #repeats(node: GraphNode, filling: Filling): boolean {
    const key = describeCall(node.tool, filling);
    return this.#chain.some((call) => describeCall(call.tool, call) === key);
  }

  #execute(node: GraphNode, filling: Filling): Observation {
    this.#executed++;
    return this.#world.call(node.tool, filling.args);
  }

  #accept(
    node: GraphNode,
    filling: Filling,
    observation: Observation,
    edge: { kind: EdgeKind; index: number } | null,
  ): void {
    this.#chain.push({ tool: node.tool, ...filling, observation, node: node.id, edge });
    this.#clusters.add(node.cluster);
    this.#touched = this.#world.log.at(-1)?.touched ?? [];
  }

  /**
   * Counts a failure and takes the world back. A refused call (`null`) has changed nothing: the world stands at s_{t−1}
   * as it is, only what the environment will do next has moved on, so that a retry is a new try.
   * @returns how the walk ends, where it does.
   */
  #fail(before: Snapshot | null): Ended | null {
    this.#failed++;
    if (before) this.#world.restore(before);
    if (!this.#options.rollback) return { reason: 'a call failed and there is no rollback', fatal: true };
    return this.#failed >= this.#options.maxTries
      ? { reason: `${this.#failed} calls failed`, fatal: true }
      : null;
  }

  /**
   * What is wrong with the state after an accepted call, by the meaning of its edge: data must have flowed, a state edge
   * must connect calls on one object. `null` where all is well.
   */
  #mismatch(way: Way, filling: Filling, before: Snapshot): string | null {
    const tool = this.#around.tools.get(
      (this.#index.graph.nodes[way.edge.to] as GraphNode).tool,
    ) as WorldTool;
    if (tool.effect !== 'read' && changed(this.#world.diff(before, this.#world.snapshot())).length === 0) {
      return 'the call changed nothing';
    }
    if (way.edge.kind === 'data') return this.#flows(filling) ? null : 'no value of the last call was used';
    if (way.edge.kind === 'state' && !this.#sameObject()) return 'the two calls are about different objects';
    return null;
  }

  /** Whether a write has changed nothing. */
  #idle(node: GraphNode, before: Snapshot): boolean {
    if (this.#around.tools.get(node.tool)?.effect === 'read') return false;
    return changed(this.#world.diff(before, this.#world.snapshot())).length === 0;
  }

  #flows(filling: Filling): boolean {
    const last = this.#chain.length - 1;
    const observation = this.#chain[last]?.observation;
    return Object.entries(filling.provenance).some(
      ([name, origin]) =>
        origin.from === 'observation' &&
        origin.call === last &&
        observation?.ok === true &&
        canonicalJson(valueAt(observation.value, origin.path) ?? null) ===
          canonicalJson(filling.args[name] ?? null),
    );
  }

  /** Whether the call just made and the one before it in the chain touched one object. */
  #sameObject(): boolean {
    const earlier = new Set(this.#touched);
    return (this.#world.log.at(-1)?.touched ?? []).some(
      (object) => earlier.has(object) && !object.startsWith('clock:'),
    );
  }
}

const known = new WeakMap<World, Pick<Surroundings, 'objects' | 'tools' | 'domains'>>();

/** What stays the same over all walks in one world. */
function knownOf({ world, lexicon }: Bound): Pick<Surroundings, 'objects' | 'tools' | 'domains'> {
  let held = known.get(world);
  if (!held) {
    const tools = new Map(world.tools.map((tool): [string, WorldTool] => [tool.name, tool]));
    held = { objects: new Objects(world, lexicon), tools, domains: new Map() };
    known.set(world, held);
  }
  return held;
}

/** How a walk ended early; `fatal` where its calls are no chain. */
interface Ended {
  reason: string;
  fatal: boolean;
}

/** A call as text: `get_ticket {"ticket":"T-1"}`. */
export function describeCall(tool: string, filling: { args: Filling['args'] }): string {
  return `${tool} ${canonicalJson(filling.args)}`;
}

/** Whether a refusal is the environment's failure, not the caller's. */
export function isEnvironmental(code: string): boolean {
  return code === 'timeout' || code === 'rate_limit';
}

/** Changes of the world apart from its clock. */
export function changed(changes: readonly Change[]): Change[] {
  return changes.filter(({ table }) => table !== 'clock');
}
