import type { GraphEdge, ToolGraph } from '../../task/model.ts';

/** A node or an edge of a graph, by index. */
export interface Thing {
  kind: 'node' | 'edge';
  index: number;
}

/** What is opened, pointed at or focused; nothing where null. */
export type Choice = Thing | null;

/** Whether `thing` has nothing to do with what the reader looks at: neither it, nor its neighbour by a shown edge. */
export function isApart(
  graph: ToolGraph,
  shown: readonly { edge: GraphEdge }[],
  near: Thing,
  { kind, index }: Thing,
): boolean {
  if (near.kind === 'edge') {
    if (kind === 'edge') return index !== near.index;
    const edge = graph.edges[near.index];
    const id = graph.nodes[index]?.id;
    return id !== edge?.from && id !== edge?.to;
  }
  const id = graph.nodes[near.index]?.id;
  const touches = (edge: { from: number; to: number }) => edge.from === id || edge.to === id;
  if (kind === 'edge') return !touches(graph.edges[index] ?? { from: -1, to: -1 });
  const other = graph.nodes[index]?.id;
  return (
    other !== id && !shown.some(({ edge }) => touches(edge) && (edge.from === other || edge.to === other))
  );
}
