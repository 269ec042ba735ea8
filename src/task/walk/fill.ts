import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { WorldTool } from '../../world/kit.ts';
import type { ChainCall, GraphNode, Provenance } from '../model.ts';
import { type Domain, domainOf, fixedValue } from './arguments.ts';
import { type Binding, bindingsBetween, configuredArguments, type GraphIndex, type Way } from './index.ts';
import type { Objects } from './objects.ts';
import { valuesAt } from './path.ts';

/** Arguments for a call, each with where it came from. */
export interface Filling {
  args: JsonObject;
  provenance: Record<string, Provenance>;
}

/** What filling draws on: the graph, the calls made so far, and the objects of the world as it stands. */
export interface Surroundings {
  index: GraphIndex;
  chain: readonly ChainCall[];
  objects: Objects;
  rng: Rng;
  tools: ReadonlyMap<string, WorldTool>;
  /** Domains by `tool argument`, filled as they are met. */
  domains: Map<string, Domain>;
}

interface Source {
  value: Json;
  provenance: Provenance;
}

/** How often an argument that could come from an earlier call does so, where a fresh identifier would do as well. */
const FROM_EARLIER = 0.8;
/** How often a fresh identifier is one that the request already names. */
const NAMED_AGAIN = 0.85;

/**
 * Fills the arguments of a node, reached by `way` from the last call (`null` at the start or after a failure). A data or
 * state edge must carry at least one of its bindings; the other arguments come from earlier calls through witnessed
 * bindings, from the snapshot, or are constants. @returns a sentence where an argument has no source.
 */
export function fill(around: Surroundings, node: GraphNode, way: Way | null): Filling | string {
  const tool = around.tools.get(node.tool);
  if (!tool) return `the world has no tool ${node.tool}`;
  const filling: Filling = { args: {}, provenance: {} };
  const place = (name: string, source: Source): void => {
    filling.args[name] = source.value;
    filling.provenance[name] = source.provenance;
  };
  const wanted = configuredArguments(node);
  for (const { name, fixed } of wanted) {
    if (fixed !== null) place(name, constant(fixedValue(tool, name, fixed)));
  }
  if (way) {
    const carried = carry(around, way, new Set(wanted.map(({ name }) => name)));
    if (carried.size === 0) return `nothing of the last call fits ${node.tool}`;
    for (const [name, source] of carried) {
      const fixed = filling.args[name];
      if (fixed !== undefined && canonicalJson(fixed) !== canonicalJson(source.value)) {
        return `the value that flows into ${name} is not the one that the node fixes`;
      }
      place(name, source);
    }
  }
  for (const { name } of wanted) {
    if (name in filling.args) continue;
    const source = free(around, tool, node, name);
    if (!source) return `nothing known so far can be the ${name} of ${node.tool}`;
    place(name, source);
  }
  return filling;
}

/** The same arguments as a failed call, where the node takes them: what a retry starts from. */
export function refill(around: Surroundings, node: GraphNode, failed: Filling): Filling | string {
  const tool = around.tools.get(node.tool);
  if (!tool) return `the world has no tool ${node.tool}`;
  const filling: Filling = { args: {}, provenance: {} };
  for (const { name, fixed } of configuredArguments(node)) {
    const held = failed.provenance[name];
    const source =
      fixed !== null
        ? constant(fixedValue(tool, name, fixed))
        : held
          ? { value: failed.args[name] as Json, provenance: held }
          : (soleOther(node, failed) ?? free(around, tool, node, name));
    if (!source) return `nothing known so far can be the ${name} of ${node.tool}`;
    filling.args[name] = source.value;
    filling.provenance[name] = source.provenance;
  }
  return filling;
}

/** Two tools that take one argument each under different names are retried with the same value. */
function soleOther(node: GraphNode, failed: Filling): Source | null {
  const names = Object.keys(failed.args);
  const name = names[0];
  if (node.configuration.length !== 1 || names.length !== 1 || name === undefined) return null;
  return { value: failed.args[name] as Json, provenance: failed.provenance[name] as Provenance };
}

/** A constant written in the request. */
function constant(value: Json): Source {
  return { value, provenance: { from: 'request', ref: { root: { id: value }, path: [] } } };
}

/**
 * The bindings that an edge carries this time: one drawn by how often it was witnessed, each other argument in
 * proportion to how often the edge filled it.
 */
function carry(around: Surroundings, way: Way, wanted: ReadonlySet<string>): Map<string, Source> {
  const last = around.chain.length - 1;
  const kind = way.edge.kind;
  const carried = new Map<string, Source>();
  if (kind === 'retry') return carried;
  const open = way.edge.bindings
    .filter(({ target }) => wanted.has(target))
    .map((binding) => ({ binding, sources: sourcesOf(around, { ...binding, kind }, last) }))
    .filter(({ sources }) => sources.length > 0);
  const main = open[around.rng.weighted(open.map(({ binding }) => binding.count))];
  if (!main) return carried;
  carried.set(main.binding.target, around.rng.pick(main.sources));
  for (const { binding, sources } of open) {
    if (carried.has(binding.target)) continue;
    if (around.rng.chance(binding.count / way.edge.count))
      carried.set(binding.target, around.rng.pick(sources));
  }
  return carried;
}

/** What a binding yields from one earlier call: output values (data), or the object that both calls are about (state). */
function sourcesOf(around: Surroundings, binding: Binding, call: number): Source[] {
  const earlier = around.chain[call];
  if (!earlier?.observation.ok) return [];
  const fromOutput = (): Source[] =>
    valuesAt(earlier.observation.ok ? earlier.observation.value : null, binding.source)
      .filter(({ value }) => value !== null && value !== '')
      .map(({ path, value }) => ({ value, provenance: { from: 'observation', call, path } }));
  if (binding.kind === 'data') return fromOutput();
  const name = binding.source.replace(/^args?\./, '');
  const held = earlier.provenance[name];
  return held ? [{ value: earlier.args[name] as Json, provenance: held }] : fromOutput();
}

/** A source for an argument that the edge does not fill: an earlier call, the snapshot, or a constant. */
function free(around: Surroundings, tool: WorldTool, node: GraphNode, name: string): Source | null {
  const { chain, index, rng } = around;
  const earlier: Source[] = [];
  for (let call = 0; call < chain.length; call++) {
    for (const binding of bindingsBetween(index, (chain[call] as ChainCall).node, node.id)) {
      if (binding.target === name) earlier.push(...sourcesOf(around, binding, call));
    }
  }
  if (earlier.length > 0 && rng.chance(FROM_EARLIER)) return rng.pick(earlier);
  const key = `${tool.name} ${name}`;
  const domain = around.domains.get(key) ?? domainOf(tool, name, around.objects);
  around.domains.set(key, domain);
  return fresh(around, domain) ?? (earlier.length > 0 ? rng.pick(earlier) : null);
}

/** A value to be written in the request: an identifier from the snapshot, often one named already, or a constant. */
function fresh(around: Surroundings, domain: Domain): Source | null {
  const { rng, objects } = around;
  if (domain.kind === 'open') return null;
  if (domain.kind === 'constants') return domain.values.length > 0 ? constant(rng.pick(domain.values)) : null;
  const ids = domain.types.flatMap((type) => objects.ids(type));
  if (ids.length === 0) return null;
  const named = rootsOf(around.chain).filter((id) => typeof id === 'string' && ids.includes(id));
  return constant(named.length > 0 && rng.chance(NAMED_AGAIN) ? rng.pick(named) : rng.pick(ids));
}

/** Values that the request names so far. */
function rootsOf(chain: readonly ChainCall[]): Json[] {
  return chain.flatMap((call) =>
    Object.values(call.provenance).flatMap((origin) =>
      origin.from === 'request' && 'id' in origin.ref.root ? [origin.ref.root.id] : [],
    ),
  );
}
