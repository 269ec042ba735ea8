import { hash53 } from '../../base/hash.ts';
import type { Effect } from '../../trace/model.ts';
import type { GraphEdge, GraphNode, SourceCounts, ToolGraph, Witness } from '../model.ts';
import { clusterTools } from './cluster.ts';
import { hashValue } from './leaves.ts';
import { blankEvidence, KINDS } from './log.ts';
import type { Mined } from './miner.ts';
import type { FilledOptions } from './options.ts';
import { mixKey } from './sketch.ts';
import { configurationOf, isEnumerated, nodeKey, type Slot, strongerEffect } from './tools.ts';

/** Why a value is no evidence, or `null` where it is. */
export type Doubt = 'enumerated' | 'constant' | 'untraceable' | 'unidentified';

interface RankedWitness extends Witness {
  order: number;
}

interface EdgeDraft {
  from: number;
  to: number;
  kind: number;
  count: number;
  ranks: GraphEdge['ranks'];
  bindings: Map<number, number>;
  witnesses: RankedWitness[];
}

/** Decides what is evidence and puts the graph together. Reads only. */
export function assemble(mined: Mined, options: FilledOptions): ToolGraph {
  const enumerated = new Set(
    mined.table.slots.filter((slot) => isEnumerated(slot, (text) => mined.identifiers.has(hashValue(text)))),
  );
  const { nodes, place } = buildNodes(mined, enumerated);
  const doubt = doubter(mined, enumerated, options);
  const sources = new Map<string, SourceCounts>();
  for (const { source, trajectories, calls, pairs, loose } of mined.sources.values()) {
    const edges = { data: 0, state: 0, retry: 0 };
    sources.set(source, {
      source,
      trajectories,
      calls,
      pairs,
      edges,
      ...(options.loose === 'off' ? {} : { loose }),
    });
  }
  const { drafts, doubted } = collectEdges(mined, place, nodes.length, doubt, sources, options);
  const pruned: Record<string, number> = {};
  const prune = (reason: string): void => {
    pruned[reason] = (pruned[reason] ?? 0) + 1;
  };
  for (const reason of doubted) prune(reason);
  const edges: GraphEdge[] = [];
  for (const draft of drafts) {
    if (draft.count < options.minCount) prune('rare');
    else edges.push(finishEdge(draft, nodes, mined));
  }
  edges.sort((a, b) => a.from - b.from || a.to - b.to || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const clusters = clusterTools(nodes, edges, variable(mined));
  return {
    nodes,
    edges,
    clusters,
    sources: [...sources.values()].sort((a, b) => (a.source < b.source ? -1 : 1)),
    pruned: Object.fromEntries(Object.entries(pruned).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Tools whose successful results differ between calls with different arguments. */
function variable(mined: Mined): Set<string> {
  const names = new Set<string>();
  for (const { name, args, results } of mined.table.tools.values()) {
    // Two unequal arguments and two unequal results always come with two calls that differ in both.
    if (args[0] < args[1] && results[0] < results[1]) names.add(name);
  }
  return names;
}

/** Nodes in order of their keys, and for every fine node the node that it became part of. */
function buildNodes(mined: Mined, enumerated: ReadonlySet<Slot>): { nodes: GraphNode[]; place: Int32Array } {
  const byKey = new Map<string, { node: GraphNode; fine: number[]; sources: Map<string, number> }>();
  mined.table.nodes.forEach((fine, i) => {
    const configuration = configurationOf(fine, enumerated);
    const key = nodeKey(fine.tool.name, configuration);
    let held = byKey.get(key);
    if (!held) {
      const node: GraphNode = {
        id: 0,
        key,
        tool: fine.tool.name,
        configuration,
        effect: 'read' satisfies Effect,
        calls: 0,
        errors: 0,
        pairs: 0,
        sources: {},
        cluster: 0,
      };
      held = { node, fine: [], sources: new Map() };
      byKey.set(key, held);
    }
    held.fine.push(i);
    held.node.effect = strongerEffect(held.node.effect, fine.effect);
    held.node.calls += fine.calls;
    held.node.errors += fine.errors;
    held.node.pairs += fine.pairs;
    for (const [source, count] of fine.sources) {
      held.sources.set(source, (held.sources.get(source) ?? 0) + count);
    }
  });
  const place = new Int32Array(mined.table.nodes.length);
  const keys = [...byKey.keys()].sort();
  const nodes = keys.map((key, id) => {
    const { node, fine, sources } = byKey.get(key) as {
      node: GraphNode;
      fine: number[];
      sources: Map<string, number>;
    };
    node.id = id;
    node.sources = Object.fromEntries([...sources].sort(([a], [b]) => (a < b ? -1 : 1)));
    for (const i of fine) place[i] = id;
    return node;
  });
  return { nodes, place };
}

/**
 * How common a value is in a slot, judged once for each: a constant of the slot, or one that the caller chooses and
 * outputs hold by chance. @see CommonTest
 */
function doubter(
  mined: Mined,
  enumerated: ReadonlySet<Slot>,
  options: FilledOptions,
): (slot: number, hash: number) => Doubt | null {
  const { common } = options;
  const { log, table, support, fresh, held, results } = mined;
  const traced = new Map<number, number>();
  const e = blankEvidence();
  for (let i = 0; i < log.count; i++) {
    if (log.read(i, e).kind !== 0) continue;
    const key = mixKey(log.hash(i), e.slot);
    if (support.get(key) >= common.support) traced.set(key, (traced.get(key) ?? 0) + 1);
  }
  const verdicts = new Map<number, Doubt | null>();
  const judge = (at: number, hash: number, key: number): Doubt | null => {
    const slot = table.slots[at] as Slot;
    const trajectories = support.get(key);
    if (trajectories < common.support) return null;
    if (trajectories > common.share * slot.trajectories && !mined.identifiers.has(hash)) return 'constant';
    const uses = fresh.get(key);
    const shown = traced.get(key) ?? 0;
    if (shown < common.traced * uses) return 'untraceable';
    return shown < (common.lift * uses * held.get(hash)) / Math.max(results, 1) ? 'untraceable' : null;
  };
  return (at, hash) => {
    if (enumerated.has(table.slots[at] as Slot)) return 'enumerated';
    const key = mixKey(hash, at);
    let verdict = verdicts.get(key);
    if (verdict === undefined) {
      verdict = judge(at, hash, key);
      if (traced.has(key)) verdicts.set(key, verdict);
    }
    return verdict;
  };
}

/** Goes through the evidence a pair and a kind at a time: counts those with any left, and why the others have none. */
function collectEdges(
  mined: Mined,
  place: Int32Array,
  nodes: number,
  doubt: (slot: number, hash: number) => Doubt | null,
  sources: Map<string, SourceCounts>,
  options: FilledOptions,
): { drafts: EdgeDraft[]; doubted: Doubt[] } {
  const { log } = mined;
  const drafts = new Map<number, EdgeDraft>();
  const doubts = new Map<number, Map<Doubt, number>>();
  const e = blankEvidence();
  const counted: number[] = [];
  let pair = -1;
  let kind = -1;
  let open: EdgeDraft | null = null;
  let firstDoubt: Doubt | null = null;
  let key = 0;
  const close = (): void => {
    if (pair < 0 || open || !firstDoubt) return;
    const held = doubts.get(key) ?? new Map<Doubt, number>();
    held.set(firstDoubt, (held.get(firstDoubt) ?? 0) + 1);
    doubts.set(key, held);
  };
  for (let i = 0; i < log.count; i++) {
    log.read(i, e);
    if (e.pair !== pair || e.kind !== kind) {
      close();
      pair = e.pair;
      kind = e.kind;
      open = null;
      firstDoubt = null;
      counted.length = 0;
      key = ((place[e.start] as number) * nodes + (place[e.end] as number)) * KINDS.length + kind;
    }
    const why = doubtOf(e, log.hash(i), doubt, mined);
    if (why) {
      firstDoubt ??= why;
      continue;
    }
    if (!open) {
      open = drafts.get(key) ?? null;
      if (!open) {
        open = {
          from: place[e.start] as number,
          to: place[e.end] as number,
          kind,
          count: 0,
          ranks: {},
          bindings: new Map(),
          witnesses: [],
        };
        drafts.set(key, open);
      }
      const origin = mined.origins[e.trajectory] as Mined['origins'][number];
      open.count++;
      open.ranks[origin.rank] = (open.ranks[origin.rank] ?? 0) + 1;
      (sources.get(origin.source.source) as SourceCounts).edges[KINDS[kind] as 'data']++;
      keepWitness(open.witnesses, options.witnesses, {
        trajectory: origin.id,
        file: origin.file,
        from: e.from,
        to: e.to,
        source: mined.texts.texts[e.source] as string,
        target: mined.texts.texts[e.target] as string,
        value: log.values[i] as string,
        order: hash53(`${origin.id}\n${e.from}\n${e.to}`),
      });
    }
    if (e.binding >= 0 && !counted.includes(e.binding)) {
      counted.push(e.binding);
      open.bindings.set(e.binding, (open.bindings.get(e.binding) ?? 0) + 1);
    }
  }
  close();
  const doubted: Doubt[] = [];
  for (const [edge, reasons] of doubts) {
    if (drafts.has(edge)) continue;
    const first = [...reasons].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0];
    if (first) doubted.push(first[0]);
  }
  return { drafts: [...drafts.values()], doubted };
}

function doubtOf(
  e: { kind: number; slot: number; ifIdentifier: number },
  hash: number,
  doubt: (slot: number, hash: number) => Doubt | null,
  mined: Mined,
): Doubt | null {
  if (KINDS[e.kind] === 'retry') return null;
  if (KINDS[e.kind] === 'data') return doubt(e.slot, hash);
  if (e.ifIdentifier === 1) {
    if (!mined.identifiers.has(hash)) return 'unidentified';
    if (doubt(e.slot, hash) === 'enumerated') return 'enumerated';
  }
  return null;
}

/** Keeps the `cap` witnesses with the smallest hash, in order. */
function keepWitness(kept: RankedWitness[], cap: number, witness: RankedWitness): void {
  if (kept.length >= cap && compareWitnesses(kept.at(-1) as RankedWitness, witness) <= 0) return;
  let at = kept.length;
  while (at > 0 && compareWitnesses(kept[at - 1] as RankedWitness, witness) > 0) at--;
  kept.splice(at, 0, witness);
  if (kept.length > cap) kept.pop();
}

function compareWitnesses(a: RankedWitness, b: RankedWitness): number {
  if (a.order !== b.order) return a.order - b.order;
  const left = [a.trajectory, a.file, a.source, a.target, a.value].join('\n');
  const right = [b.trajectory, b.file, b.source, b.target, b.value].join('\n');
  return left < right ? -1 : left > right ? 1 : a.from - b.from;
}

function finishEdge(draft: EdgeDraft, nodes: readonly GraphNode[], mined: Mined): GraphEdge {
  const start = nodes[draft.from] as GraphNode;
  const bindings = [...draft.bindings].map(([binding, count]) => ({
    ...(mined.bindings[binding] as Mined['bindings'][number]),
    count,
  }));
  bindings.sort(
    (a, b) => b.count - a.count || compareText(a.target, b.target) || compareText(a.source, b.source),
  );
  return {
    from: draft.from,
    to: draft.to,
    kind: KINDS[draft.kind] as GraphEdge['kind'],
    count: draft.count,
    weight: draft.count / start.pairs,
    ranks: Object.fromEntries(Object.entries(draft.ranks).sort(([a], [b]) => compareText(a, b))),
    bindings,
    witnesses: draft.witnesses.map(({ order: _, ...witness }) => witness),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
