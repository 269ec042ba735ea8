import type { GraphEdge, GraphNode, SourceCounts, ToolGraph } from '../model.ts';
import { clusterTools } from './cluster.ts';
import { collectEdges, compareText, type EdgeDraft, witnessAt } from './collect.ts';
import { type Doubt, judgeOf } from './judge.ts';
import { hashValue } from './leaves.ts';
import { KINDS } from './log.ts';
import type { Mined, SourceTally } from './miner.ts';
import type { FilledOptions } from './options.ts';
import { configurationOf, isEnumerated, nodeKey, type Slot, strongerEffect } from './tools.ts';

/** Decides what is evidence and puts the graph together. Reads only. */
export function assemble(mined: Mined, options: FilledOptions): ToolGraph {
  const enumerated = new Set(
    mined.table.slots.filter((slot) => isEnumerated(slot, (text) => mined.identifiers.has(hashValue(text)))),
  );
  const { nodes, place } = buildNodes(mined, enumerated);
  const sources = sourceCounts(mined, options);
  const judge = judgeOf(mined, enumerated, options);
  const { drafts, rare, doubted } = collectEdges(
    mined,
    { place, nodes: nodes.length },
    judge,
    options,
    (source, kind) => {
      (sources.get(source) as SourceCounts).edges[kind]++;
    },
  );
  const edges = drafts.map((draft) => finishEdge(draft, nodes, mined));
  edges.sort((a, b) => a.from - b.from || a.to - b.to || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const clusters = clusterTools(nodes, edges, variable(mined));
  return {
    nodes,
    edges,
    clusters,
    sources: [...sources.values()].sort(
      (a, b) => compareText(a.source, b.source) || compareText(a.path, b.path),
    ),
    pruned: prunedCounts(doubted, rare),
  };
}

function sourceCounts(mined: Mined, { loose: look }: FilledOptions): Map<SourceTally, SourceCounts> {
  const counts = new Map<SourceTally, SourceCounts>();
  for (const tally of mined.sources.values()) {
    const { loose, ...held } = tally;
    const edges = { data: 0, state: 0, retry: 0 };
    counts.set(tally, { ...held, edges, ...(look === 'off' ? {} : { loose }) });
  }
  return counts;
}

function prunedCounts(doubted: readonly Doubt[], rare: number): Record<string, number> {
  const counts = new Map<string, number>(rare > 0 ? [['rare', rare]] : []);
  for (const reason of doubted) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => compareText(a, b)));
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
        effect: 'read',
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
