import type { GraphEdge, GraphNode, ToolGraph } from '../model.ts';

/** A way, witnessed in traces, in which a value of one call became an argument of a later one. */
export interface Binding {
  kind: 'data' | 'state';
  /** Path in the earlier call (its result; for state edges its arguments or its result). */
  source: string;
  /** Argument of the later call. */
  target: string;
  count: number;
}

/** An edge with its index in the graph. */
export interface Way {
  index: number;
  edge: GraphEdge;
}

/** A graph arranged for walking: what leads out of a node, and what fills its arguments. Built once per graph. */
export interface GraphIndex {
  graph: ToolGraph;
  /** Data and state edges by their start. */
  onward: Way[][];
  /** Retry edges by their start. */
  retries: Way[][];
  /** Bindings by `from:to`. */
  bindings: Map<string, Binding[]>;
  /** Index into `graph.clusters` by node. */
  cluster: number[];
}

const built = new WeakMap<ToolGraph, GraphIndex>();

/** The arranged form of a graph; the same object for the same graph, which must not be changed afterwards. */
export function indexGraph(graph: ToolGraph): GraphIndex {
  const known = built.get(graph);
  if (known) return known;
  const index: GraphIndex = {
    graph,
    onward: graph.nodes.map(() => []),
    retries: graph.nodes.map(() => []),
    bindings: new Map(),
    cluster: graph.nodes.map((node) => node.cluster),
  };
  graph.edges.forEach((edge, i) => {
    (edge.kind === 'retry' ? index.retries : index.onward)[edge.from]?.push({ index: i, edge });
    if (edge.kind === 'retry') return;
    const kind = edge.kind;
    const key = `${edge.from}:${edge.to}`;
    const list = index.bindings.get(key) ?? [];
    for (const { source, target, count } of edge.bindings) list.push({ kind, source, target, count });
    index.bindings.set(key, list);
  });
  built.set(graph, index);
  return index;
}

/** Bindings from one node to another, over all data and state edges between them. */
export function bindingsBetween(index: GraphIndex, from: number, to: number): readonly Binding[] {
  return index.bindings.get(`${from}:${to}`) ?? [];
}

/** The arguments of a node's configuration; `fixed` is the text of an enumerated value. */
export function configuredArguments(node: GraphNode): { name: string; fixed: string | null }[] {
  return node.configuration.map((entry) => {
    const at = entry.indexOf('=');
    return at < 0 ? { name: entry, fixed: null } : { name: entry.slice(0, at), fixed: entry.slice(at + 1) };
  });
}
