import { Graph, layout } from '@dagrejs/dagre';
import type { GraphEdge, GraphNode, ToolGraph } from '../src/task/model.ts';

export interface Point {
  x: number;
  y: number;
}

/** Where a graph's nodes and edges lie, in pixels from the top left. Indices are those of the graph. */
export interface GraphLayout {
  width: number;
  height: number;
  /** Centres and sizes; the area of a node grows with its calls. */
  nodes: { index: number; x: number; y: number; width: number; height: number }[];
  edges: { index: number; points: Point[] }[];
  /** What was left out because the picture would be unreadable: the nodes called least, the edges seen least. */
  hidden: { nodes: number; edges: number };
}

/** Width of a letter and height of a node at scale 1. */
const LETTER = 7.2;
const HEIGHT = 34;
const MOST_NODES = 120;
const MOST_EDGES = 360;

/** Indices of the `most` best items by `score`, in their old order. */
function strongest<T>(items: readonly T[], most: number, score: (item: T) => number): number[] {
  const order = items.map((_, index) => index);
  if (items.length <= most) return order;
  return order
    .sort((a, b) => score(items[b] as T) - score(items[a] as T) || a - b)
    .slice(0, most)
    .sort((a, b) => a - b);
}

/** Letters of a node's label: the tool, and below it the arguments in smaller type, cut after 26. */
function letters({ tool, configuration }: GraphNode): number {
  return Math.max(tool.length, Math.min(26, configuration.join(', ').length) * 0.8);
}

/** Layers of the graph from top to bottom (Sugiyama's method, by dagre). Self-loops get a small bow at the node. */
export function layoutGraph(graph: ToolGraph): GraphLayout {
  const picture = new Graph({ directed: true, multigraph: true });
  picture.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 46, edgesep: 8, marginx: 24, marginy: 20 });
  picture.setDefaultEdgeLabel(() => ({}));

  const nodes = strongest(graph.nodes, MOST_NODES, (node) => node.calls);
  const shown = new Set(nodes.map((index) => graph.nodes[index]?.id));
  const linked = graph.edges
    .map((edge, index) => ({ edge, index }))
    .filter(({ edge }) => shown.has(edge.from) && shown.has(edge.to));
  const edges = strongest(linked, MOST_EDGES, ({ edge }) => edge.count).map(
    (i) => linked[i] as { edge: GraphEdge; index: number },
  );

  const most = Math.max(1, ...graph.nodes.map((node) => node.calls));
  for (const index of nodes) {
    const node = graph.nodes[index];
    if (!node) continue;
    const scale = 0.85 + 0.5 * Math.sqrt(node.calls / most);
    picture.setNode(String(node.id), {
      width: (letters(node) * LETTER + 18) * scale,
      height: HEIGHT * scale,
    });
  }
  for (const { edge, index } of edges) {
    if (edge.from !== edge.to) {
      picture.setEdge(String(edge.from), String(edge.to), { weight: 1 + 4 * edge.weight }, String(index));
    }
  }
  layout(picture);

  const at = (id: number) =>
    picture.node(String(id)) as { x: number; y: number; width: number; height: number };
  const bow = (id: number): Point[] => {
    const { x, y, width } = at(id);
    const right = x + width / 2;
    return [
      { x: right, y: y - 6 },
      { x: right + 16, y: y - 12 },
      { x: right + 16, y: y + 12 },
      { x: right, y: y + 6 },
    ];
  };
  const { width = 0, height = 0 } = picture.graph();
  return {
    width: Math.max(1, Math.ceil(width)),
    height: Math.max(1, Math.ceil(height)),
    nodes: nodes.map((index) => {
      const { x, y, width, height } = at(graph.nodes[index]?.id ?? 0);
      return { index, x, y, width, height };
    }),
    edges: edges.map(({ edge, index }) => {
      if (edge.from === edge.to) return { index, points: bow(edge.from) };
      const { points } = picture.edge(String(edge.from), String(edge.to), String(index)) as {
        points: Point[];
      };
      return { index, points };
    }),
    hidden: { nodes: graph.nodes.length - nodes.length, edges: graph.edges.length - edges.length },
  };
}
