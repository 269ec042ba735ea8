import Graph from 'graphology';
import louvain from 'graphology-communities-louvain';
import { Rng } from '../../base/rng.ts';
import type { Cluster, GraphEdge, GraphNode } from '../model.ts';
import { nounsOf } from './fields.ts';

/**
 * Groups tools that hang together (ToolSpace, graph to environments) and writes each node's `cluster`. Louvain
 * (Blondel et al. 2008) on the undirected graph of tools, weighted by witnessed pairs, visited in order of names
 * from a fixed seed. A tool without edges goes to the cluster that holds most tools of its server, if any does.
 * Clusters are ordered by size, then name.
 * @param variable tools whose output varies with their arguments.
 */
export function clusterTools(
  nodes: GraphNode[],
  edges: readonly GraphEdge[],
  variable: ReadonlySet<string>,
): Cluster[] {
  const tools = [...new Set(nodes.map((node) => node.tool))].sort();
  const groups = joinLonely(communities(tools, nodes, edges), tools);
  const members = new Map<number, string[]>();
  for (const tool of tools) {
    const group = groups.get(tool) as number;
    members.set(group, [...(members.get(group) ?? []), tool]);
  }
  const calls = new Map<string, number>();
  const writers = new Set<string>();
  for (const node of nodes) {
    calls.set(node.tool, (calls.get(node.tool) ?? 0) + node.calls);
    if (node.effect !== 'read') writers.add(node.tool);
  }
  const ordered = [...members.values()].sort(
    (a, b) => b.length - a.length || ((a[0] as string) < (b[0] as string) ? -1 : 1),
  );
  const taken = new Set<string>();
  const clusters = ordered.map((list): Cluster => {
    const plain = nameOf(list, calls);
    let name = plain;
    for (let n = 2; taken.has(name); n++) name = `${plain} ${n}`;
    taken.add(name);
    const kind = list.some((tool) => writers.has(tool))
      ? 'operational'
      : list.some((tool) => variable.has(tool))
        ? 'query'
        : 'stateless';
    return { name, kind, tools: list };
  });
  const index = new Map<string, number>();
  clusters.forEach((cluster, i) => {
    for (const tool of cluster.tools) index.set(tool, i);
  });
  for (const node of nodes) node.cluster = index.get(node.tool) as number;
  return clusters;
}

/** Community of each tool that has an edge to another one. */
function communities(
  tools: readonly string[],
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
): Map<string, number> {
  const weights = new Map<string, number>();
  const order = new Map(tools.map((tool, i) => [tool, i]));
  for (const edge of edges) {
    const a = order.get((nodes[edge.from] as GraphNode).tool) as number;
    const b = order.get((nodes[edge.to] as GraphNode).tool) as number;
    if (a === b) continue;
    const key = `${Math.min(a, b)} ${Math.max(a, b)}`;
    weights.set(key, (weights.get(key) ?? 0) + edge.count);
  }
  if (weights.size === 0) return new Map();
  const graph = new Graph({ type: 'undirected' });
  const pairs = [...weights].map(([key, weight]) => {
    const [a, b] = key.split(' ').map(Number) as [number, number];
    return { a, b, weight };
  });
  pairs.sort((p, q) => p.a - q.a || p.b - q.b);
  for (const at of [...new Set(pairs.flatMap(({ a, b }) => [a, b]))].sort((p, q) => p - q)) {
    graph.addNode(tools[at] as string);
  }
  for (const { a, b, weight } of pairs) graph.addEdge(tools[a] as string, tools[b] as string, { weight });
  const rng = new Rng('tool clusters');
  const found = louvain(graph, { getEdgeWeight: 'weight', randomWalk: false, rng: () => rng.float() });
  return new Map(graph.nodes().map((tool) => [tool, found[tool] as number]));
}

/** Server of a tool: what stands before the last slash; empty where there is none. */
function serverOf(tool: string): string {
  const at = tool.lastIndexOf('/');
  return at < 0 ? '' : tool.slice(0, at);
}

/** Adds the tools without edges: to the community with most tools of their server, else by server, else alone. */
function joinLonely(groups: Map<string, number>, tools: readonly string[]): Map<string, number> {
  const all = new Map(groups);
  let next = Math.max(-1, ...groups.values()) + 1;
  const homes = new Map<string, Map<number, number>>();
  for (const [tool, group] of groups) {
    const home = homes.get(serverOf(tool)) ?? new Map<number, number>();
    home.set(group, (home.get(group) ?? 0) + 1);
    homes.set(serverOf(tool), home);
  }
  for (const tool of tools) {
    if (all.has(tool)) continue;
    const server = serverOf(tool);
    const home = server === '' ? undefined : homes.get(server);
    const best = home && [...home].sort(([a, m], [b, n]) => n - m || a - b)[0];
    if (best) all.set(tool, best[0]);
    else {
      if (server !== '') homes.set(server, new Map([[next, 1]]));
      all.set(tool, next++);
    }
  }
  return all;
}

/** The server that most of the tools belong to, else the one or two commonest nouns of their names, by calls. */
function nameOf(tools: readonly string[], calls: ReadonlyMap<string, number>): string {
  const servers = new Map<string, number>();
  const nouns = new Map<string, number>();
  for (const tool of tools) {
    const weight = calls.get(tool) ?? 0;
    const server = serverOf(tool);
    if (server !== '') servers.set(server, (servers.get(server) ?? 0) + 1);
    for (const noun of new Set(nounsOf(tool))) nouns.set(noun, (nouns.get(noun) ?? 0) + weight);
  }
  const top = (counts: Map<string, number>): [string, number][] =>
    [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const server = top(servers)[0];
  if (server && server[1] * 2 >= tools.length) return server[0];
  const words = top(nouns);
  const first = words[0];
  const second = words[1];
  if (!first) return tools[0] as string;
  return second && second[1] * 2 >= first[1] ? `${first[0]}, ${second[0]}` : first[0];
}
