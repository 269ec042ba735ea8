import { hashHex } from '../../base/hash.ts';
import { canonicalJson, type Json } from '../../base/json.ts';
import type { EdgeKind, GraphEdge, GraphNode, SourceCounts, ToolGraph, Witness } from '../model.ts';

/** Edges that leave a node, the likeliest first; of one kind where one is given. */
export function edgesFrom(graph: ToolGraph, node: number, kind?: EdgeKind): GraphEdge[] {
  return graph.edges
    .filter((edge) => edge.from === node && (kind === undefined || edge.kind === kind))
    .sort((a, b) => b.weight - a.weight || a.to - b.to);
}

/** An edge with everything that a reader needs to check it. */
export interface OpenedEdge {
  edge: GraphEdge;
  from: GraphNode;
  to: GraphNode;
  /** N_i: pairs that start at `from`. */
  pairs: number;
  witnesses: Witness[];
  /** Witnesses that the cap left out. */
  further: number;
}

/** Opens edge number `index`; `null` where the graph has no such edge. */
export function openEdge(graph: ToolGraph, index: number): OpenedEdge | null {
  const edge = graph.edges[index];
  const from = edge && graph.nodes[edge.from];
  const to = edge && graph.nodes[edge.to];
  if (!edge || !from || !to) return null;
  const { witnesses } = edge;
  return { edge, from, to, pairs: from.pairs, witnesses, further: edge.count - witnesses.length };
}

/** Edges by kind. */
export function countEdges(graph: ToolGraph): Record<EdgeKind, number> {
  const counts = { data: 0, state: 0, retry: 0 };
  for (const edge of graph.edges) counts[edge.kind]++;
  return counts;
}

/** Counts of the files of each source together, `path` empty, in order of their names. */
export function countSources(graph: ToolGraph): SourceCounts[] {
  const together = new Map<string, SourceCounts>();
  for (const file of graph.sources) {
    const sum = together.get(file.source);
    if (!sum) {
      together.set(file.source, { ...file, path: '', edges: { ...file.edges } });
      continue;
    }
    sum.trajectories += file.trajectories;
    sum.calls += file.calls;
    sum.pairs += file.pairs;
    for (const kind of ['data', 'state', 'retry'] as const) sum.edges[kind] += file.edges[kind];
    if (sum.loose !== undefined) sum.loose += file.loose ?? 0;
  }
  return [...together.values()];
}

/** Digest of a graph: equal graphs, equal text of 14 digits, on every machine. */
export function digestGraph(graph: ToolGraph): string {
  return hashHex(canonicalJson(graph as unknown as Json));
}
