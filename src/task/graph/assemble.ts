import { hash53 } from '../../base/hash.ts';
import type { Effect } from '../../trace/model.ts';
import type { GraphEdge, GraphNode, SourceCounts, ToolGraph, Witness } from '../model.ts';
import { clusterTools } from './cluster.ts';
import { hashValue } from './leaves.ts';
import { blankEvidence, type Evidence, KINDS } from './log.ts';
import type { Mined } from './miner.ts';
import type { FilledOptions } from './options.ts';
import { fromTool, mixKey } from './sketch.ts';
import {
  configurationOf,
  type FineNode,
  isEnumerated,
  nodeKey,
  type Slot,
  strongerEffect,
  type Tool,
} from './tools.ts';

/** Why a value is no evidence, or `null` where it is. */
export type Doubt = 'enumerated' | 'constant' | 'untraceable' | 'unidentified' | 'reference';

/** A piece of evidence that stands for its pair, with the hash by which witnesses are chosen. */
interface Ranked {
  row: number;
  order: number;
}

interface EdgeDraft {
  from: number;
  to: number;
  kind: number;
  count: number;
  ranks: GraphEdge['ranks'];
  bindings: { binding: number; count: number }[];
  witnesses: Ranked[];
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

/** Judges a value in a slot, for evidence in which `tool` was called before. */
type Judge = (slot: number, hash: number, tool: Tool) => Doubt | null;

/**
 * How common a value is, judged once for each slot and earlier tool: a constant of the slot; or one that the caller
 * chooses, and that outputs hold by chance. An identifier is doubted only where it is seldom traced: that a list holds all
 * identifiers, or the corpus only one, does not make it a constant. @see CommonTest
 */
function doubter(mined: Mined, enumerated: ReadonlySet<Slot>, { common }: FilledOptions): Judge {
  const { log, table, support, fresh, held, identifiers } = mined;
  const traced = new Map<number, number>();
  const count = (key: number): void => {
    traced.set(key, (traced.get(key) ?? 0) + 1);
  };
  const e = blankEvidence();
  for (let i = 0; i < log.count; i++) {
    if (KINDS[log.read(i, e).kind] !== 'data') continue;
    const key = mixKey(log.hash(i), (table.slots[e.slot] as Slot).salt);
    if (support.get(key) < common.support) continue;
    count(key);
    count(fromTool(key, (table.nodes[e.start] as FineNode).tool.salt));
  }
  const judge = (slot: Slot, hash: number, key: number, tool: Tool): Doubt | null => {
    const isIdentifier = identifiers.has(hash);
    if (!isIdentifier && support.get(key) > common.share * slot.trajectories) return 'constant';
    if ((traced.get(key) ?? 0) < common.traced * fresh.get(key)) return 'untraceable';
    if (isIdentifier || tool.returned < common.support) return null;
    const chance = held.get(mixKey(hash, tool.salt)) / tool.returned;
    const pair = fromTool(key, tool.salt);
    return (traced.get(pair) ?? 0) < common.lift * chance * fresh.get(pair) ? 'untraceable' : null;
  };
  const verdicts = new Map<number, Doubt | null>();
  return (at, hash, tool) => {
    const slot = table.slots[at] as Slot;
    if (enumerated.has(slot)) return 'enumerated';
    const key = mixKey(hash, slot.salt);
    if (support.get(key) < common.support) return null;
    const place = fromTool(key, tool.salt);
    let verdict = verdicts.get(place);
    if (verdict === undefined) {
      verdict = judge(slot, hash, key, tool);
      verdicts.set(place, verdict);
    }
    return verdict;
  };
}

/** Goes through the evidence a pair and a kind at a time: counts those with any left, and why the others have none. */
function collectEdges(
  mined: Mined,
  place: Int32Array,
  nodes: number,
  doubt: Judge,
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
          bindings: [],
          witnesses: [],
        };
        drafts.set(key, open);
      }
      const origin = mined.origins[e.trajectory] as Mined['origins'][number];
      open.count++;
      open.ranks[origin.rank] = (open.ranks[origin.rank] ?? 0) + 1;
      (sources.get(origin.source.source) as SourceCounts).edges[KINDS[kind] as 'data']++;
      const order = hash53(`${origin.id}\n${e.from}\n${e.to}`);
      keepWitness(open.witnesses, options.witnesses, { row: i, order }, mined);
    }
    if (e.binding >= 0 && !counted.includes(e.binding)) {
      counted.push(e.binding);
      const held = open.bindings.find(({ binding }) => binding === e.binding);
      if (held) held.count++;
      else open.bindings.push({ binding: e.binding, count: 1 });
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

function doubtOf(e: Evidence, hash: number, doubt: Judge, mined: Mined): Doubt | null {
  const { tool } = mined.table.nodes[e.start] as FineNode;
  if (KINDS[e.kind] === 'retry') return null;
  if (KINDS[e.kind] === 'data') return doubt(e.slot, hash, tool);
  const unless = e.unless < 0 ? null : (mined.texts.texts[e.unless] as string);
  if (unless !== null && mined.identifiers.has(hashValue(unless))) return 'reference';
  if (e.ifIdentifier === 1) {
    if (!mined.identifiers.has(hash)) return 'unidentified';
    if (doubt(e.slot, hash, tool) === 'enumerated') return 'enumerated';
  }
  return null;
}

/** Keeps the `cap` witnesses with the smallest hash, in order. */
function keepWitness(kept: Ranked[], cap: number, witness: Ranked, mined: Mined): void {
  if (kept.length >= cap && compareWitnesses(kept.at(-1) as Ranked, witness, mined) <= 0) return;
  let at = kept.length;
  while (at > 0 && compareWitnesses(kept[at - 1] as Ranked, witness, mined) > 0) at--;
  kept.splice(at, 0, witness);
  if (kept.length > cap) kept.pop();
}

function compareWitnesses(a: Ranked, b: Ranked, mined: Mined): number {
  if (a.order !== b.order) return a.order - b.order;
  return compareText(JSON.stringify(witnessAt(mined, a.row)), JSON.stringify(witnessAt(mined, b.row)));
}

function witnessAt({ log, origins, texts }: Mined, row: number): Witness {
  const e = log.read(row, blankEvidence());
  const origin = origins[e.trajectory] as Mined['origins'][number];
  return {
    trajectory: origin.id,
    file: origin.file,
    from: e.from,
    to: e.to,
    source: texts.texts[e.source] as string,
    target: texts.texts[e.target] as string,
    value: log.values[row] as string,
  };
}

function finishEdge(draft: EdgeDraft, nodes: readonly GraphNode[], mined: Mined): GraphEdge {
  const start = nodes[draft.from] as GraphNode;
  const bindings = draft.bindings.map(({ binding, count }) => ({
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
    witnesses: draft.witnesses.map(({ row }) => witnessAt(mined, row)),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
