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
const MARGIN = 20;
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
  return Math.max(tool.length, Math.min(26, configuration.join(', ').length) * 0.72);
}

/** A picture's measure: how large it can be shown in the room there is, and then how little paper it takes. */
function fitness(layout: GraphLayout, room: number): number {
  return Math.min(room / layout.width, (0.85 * room) / layout.height, 1);
}

/**
 * Layers of the graph (Sugiyama's method, by dagre), downwards or to the right, whichever shows larger; tools that no
 * drawn edge touches stand in rows below. Self-loops get a small bow at the node.
 * @param room width of the page's picture in pixels.
 */
export function layoutGraph(graph: ToolGraph, room: number): GraphLayout {
  const nodes = strongest(graph.nodes, MOST_NODES, (node) => node.calls);
  const shown = new Set(nodes.map((index) => graph.nodes[index]?.id));
  const linked = graph.edges
    .map((edge, index) => ({ edge, index }))
    .filter(({ edge }) => shown.has(edge.from) && shown.has(edge.to));
  const edges = strongest(linked, MOST_EDGES, ({ edge }) => edge.count).map((i) => linked[i] as Drawn);
  const down = draw(graph, nodes, edges, 'TB', room);
  const right = draw(graph, nodes, edges, 'LR', room);
  return fitness(right, room) > fitness(down, room) ? right : down;
}

interface Drawn {
  edge: GraphEdge;
  index: number;
}
type Placed = GraphLayout['nodes'][number];

function draw(
  graph: ToolGraph,
  nodes: readonly number[],
  edges: readonly Drawn[],
  rankdir: 'TB' | 'LR',
  room: number,
): GraphLayout {
  const picture = new Graph({ directed: true, multigraph: true });
  const [nodesep, ranksep] = rankdir === 'TB' ? [14, 36] : [11, 30];
  picture.setGraph({ rankdir, nodesep, ranksep, edgesep: 8, marginx: MARGIN, marginy: MARGIN });
  picture.setDefaultEdgeLabel(() => ({}));
  const touched = new Set(edges.flatMap(({ edge }) => [edge.from, edge.to]));
  const most = Math.max(1, ...graph.nodes.map((node) => node.calls));
  const sizes = nodes.map((index) => sizeOf(graph.nodes[index] as GraphNode, index, most));
  const alone = sizes.filter(({ index }) => !touched.has(graph.nodes[index]?.id ?? -1));
  for (const { index, width, height } of sizes) {
    const id = graph.nodes[index]?.id ?? -1;
    if (touched.has(id)) picture.setNode(String(id), { width, height });
  }
  for (const { edge, index } of edges) {
    if (edge.from !== edge.to) {
      picture.setEdge(String(edge.from), String(edge.to), { weight: 1 + 4 * edge.weight }, String(index));
    }
  }
  if (touched.size > 0) layout(picture);

  const at = (id: number) => picture.node(String(id)) as Placed;
  const { width: wide = 0, height: high = 0 } = touched.size > 0 ? picture.graph() : {};
  const rows = inRows(alone, Math.max(wide, room), Math.max(MARGIN, high));
  const placed = sizes
    .filter(({ index }) => touched.has(graph.nodes[index]?.id ?? -1))
    .map((size) => {
      const { x, y } = at(graph.nodes[size.index]?.id ?? -1);
      return { ...size, x, y };
    });
  return {
    width: Math.ceil(Math.max(wide, ...rows.map((node) => node.x + node.width / 2 + MARGIN), 1)),
    height: Math.ceil(Math.max(high, ...rows.map((node) => node.y + node.height / 2 + MARGIN), 1)),
    nodes: [...placed, ...rows].sort((a, b) => a.index - b.index),
    edges: edges.map(({ edge, index }) => {
      if (edge.from === edge.to) return { index, points: bow(at(edge.from)) };
      const { points } = picture.edge(String(edge.from), String(edge.to), String(index)) as {
        points: Point[];
      };
      return { index, points };
    }),
    hidden: { nodes: graph.nodes.length - nodes.length, edges: graph.edges.length - edges.length },
  };
}

function sizeOf(node: GraphNode, index: number, most: number): Placed {
  const scale = 0.9 + 0.45 * Math.sqrt(node.calls / most);
  return { index, x: 0, y: 0, width: (letters(node) * LETTER + 13) * scale, height: HEIGHT * scale };
}

/** A loop beside a node. */
function bow({ x, y, width }: Placed): Point[] {
  const right = x + width / 2;
  return [
    { x: right, y: y - 6 },
    { x: right + 16, y: y - 12 },
    { x: right + 16, y: y + 12 },
    { x: right, y: y + 6 },
  ];
}

/** Nodes side by side, in as many rows as the width asks for. */
function inRows(nodes: readonly Placed[], width: number, top: number): Placed[] {
  let x = MARGIN;
  let y = top;
  let deepest = 0;
  return nodes.map((node) => {
    if (x > MARGIN && x + node.width + MARGIN > width) {
      x = MARGIN;
      y += deepest + 10;
      deepest = 0;
    }
    const placed = { ...node, x: x + node.width / 2, y: y + node.height / 2 };
    x += node.width + 12;
    deepest = Math.max(deepest, node.height);
    return placed;
  });
}
