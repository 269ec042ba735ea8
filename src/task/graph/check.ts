import type { EdgeKind, GraphNode, ToolGraph } from '../model.ts';

const SLACK = 1e-9;

/**
 * What is wrong with a graph, one sentence each; empty where it holds together: ids are positions, keys are unique,
 * weights are N_ij / N_i and those of one kind out of a node sum to at most 1, ranks and witnesses agree with counts, every
 * tool is in one cluster, and the sources add up to the nodes.
 */
export function checkGraph(graph: ToolGraph): string[] {
  return [...checkNodes(graph), ...checkEdges(graph), ...checkClusters(graph), ...checkSources(graph)];
}

function checkNodes({ nodes }: ToolGraph): string[] {
  const problems: string[] = [];
  const keys = new Set<string>();
  nodes.forEach((node, i) => {
    if (node.id !== i) problems.push(`node ${i} has the id ${node.id}`);
    if (keys.has(node.key)) problems.push(`two nodes have the key ${node.key}`);
    keys.add(node.key);
    if (node.errors > node.calls) problems.push(`${node.key} has more errors than calls`);
    if (node.pairs > node.calls) problems.push(`${node.key} starts more pairs than it has calls`);
    const calls = Object.values(node.sources).reduce((sum, n) => sum + n, 0);
    if (calls !== node.calls) problems.push(`the sources of ${node.key} sum to ${calls}, not ${node.calls}`);
  });
  return problems;
}

function checkEdges({ nodes, edges }: ToolGraph): string[] {
  const problems: string[] = [];
  const sums = new Map<string, number>();
  const seen = new Set<string>();
  for (const edge of edges) {
    const from = nodes[edge.from];
    const to = nodes[edge.to];
    const name = `${from?.key ?? edge.from} → ${to?.key ?? edge.to} (${edge.kind})`;
    if (!from || !to) {
      problems.push(`${name} leads to a node that does not exist`);
      continue;
    }
    const place = `${edge.from} ${edge.to} ${edge.kind}`;
    if (seen.has(place)) problems.push(`${name} stands twice`);
    seen.add(place);
    const out = `${edge.from} ${edge.kind satisfies EdgeKind}`;
    sums.set(out, (sums.get(out) ?? 0) + edge.weight);
    if (Math.abs(edge.weight - edge.count / from.pairs) > SLACK) {
      problems.push(`${name} weighs ${edge.weight}, not ${edge.count}/${from.pairs}`);
    }
    const ranked = Object.values(edge.ranks).reduce((sum, n) => sum + n, 0);
    if (ranked !== edge.count) problems.push(`the ranks of ${name} sum to ${ranked}, not ${edge.count}`);
    if (edge.witnesses.length > edge.count) problems.push(`${name} has more witnesses than pairs`);
    if (edge.witnesses.length === 0) problems.push(`${name} has no witness`);
    if (edge.kind !== 'retry' && edge.bindings.length === 0) problems.push(`${name} has no binding`);
    for (const { count } of edge.bindings) {
      if (count < 1 || count > edge.count)
        problems.push(`a binding of ${name} counts ${count} of ${edge.count}`);
    }
  }
  for (const [out, sum] of sums) {
    if (sum > 1 + SLACK) problems.push(`the weights out of node ${out} sum to ${sum}`);
  }
  return problems;
}

function checkClusters({ nodes, clusters }: ToolGraph): string[] {
  const problems: string[] = [];
  const homes = new Map<string, number>();
  clusters.forEach((cluster, i) => {
    if (cluster.tools.length === 0) problems.push(`the cluster ${cluster.name} is empty`);
    for (const tool of cluster.tools) {
      if (homes.has(tool)) problems.push(`${tool} is in two clusters`);
      homes.set(tool, i);
    }
  });
  if (new Set(clusters.map(({ name }) => name)).size < clusters.length)
    problems.push('two clusters share a name');
  for (const node of nodes) {
    if (homes.get(node.tool) !== node.cluster) problems.push(`${node.key} is not in the cluster of its tool`);
  }
  return problems;
}

function checkSources({ nodes, sources }: ToolGraph): string[] {
  const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
    list.reduce((total, item) => total + of(item), 0);
  const problems: string[] = [];
  const calls = sum<GraphNode>(nodes, (node) => node.calls);
  const pairs = sum<GraphNode>(nodes, (node) => node.pairs);
  const sourceCalls = sum(sources, (source) => source.calls);
  const sourcePairs = sum(sources, (source) => source.pairs);
  if (calls !== sourceCalls) problems.push(`nodes hold ${calls} calls, sources ${sourceCalls}`);
  if (pairs !== sourcePairs) problems.push(`nodes start ${pairs} pairs, sources ${sourcePairs}`);
  return problems;
}
