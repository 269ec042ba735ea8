import type { Json, JsonObject } from '../../../src/base/json.ts';
import { mine } from '../../../src/task/graph/miner.ts';
import type { MinerOptions } from '../../../src/task/graph/options.ts';
import type { EdgeKind, GraphEdge, ToolGraph } from '../../../src/task/model.ts';
import type { Call, ToolSpec, Trajectory } from '../../../src/trace/model.ts';

/** A call in short: tool, arguments, result; further fields where they matter. */
export function call(
  tool: string,
  args: JsonObject,
  result: Json | undefined,
  more: Partial<Call> = {},
): Call {
  return {
    kind: 'call',
    id: 'c',
    tool,
    args,
    result,
    error: null,
    caller: 'agent',
    meta: false,
    place: { file: 'made' },
    ...more,
  };
}

export function failed(tool: string, args: JsonObject, error = 'not found', more: Partial<Call> = {}): Call {
  return call(tool, args, { error }, { error, ...more });
}

export function trajectory(id: string, calls: Call[], more: Partial<Trajectory> = {}): Trajectory {
  return { id, source: 'made', rank: 'server', file: 'made', turns: calls, tools: [], reward: null, ...more };
}

export function tool(name: string, properties: JsonObject, more: Partial<ToolSpec> = {}): ToolSpec {
  return { name, description: '', inputSchema: { type: 'object', properties }, ...more };
}

/** The graph of trajectories that hold these calls, nothing cut for being rare. */
export function graphOf(lists: Call[][], options: MinerOptions = {}): ToolGraph {
  return mine(
    lists.map((calls, i) => trajectory(`t${i}`, calls)),
    { minCount: 1, ...options },
  );
}

/** Edges in words: `kind: from → to (source ⇒ target) ×count`. */
export function tellEdges(graph: ToolGraph, kind?: EdgeKind): string[] {
  return graph.edges
    .filter((edge) => kind === undefined || edge.kind === kind)
    .map((edge) => {
      const ways = edge.bindings.map(({ source, target }) => `${source} ⇒ ${target}`).join('; ');
      const name = (node: number) => graph.nodes[node]?.tool;
      return `${edge.kind}: ${name(edge.from)} → ${name(edge.to)} (${ways}) ×${edge.count}`;
    });
}

export function only(graph: ToolGraph): GraphEdge {
  if (graph.edges.length !== 1) throw new Error(`expected one edge, got ${tellEdges(graph).join(' | ')}`);
  return graph.edges[0] as GraphEdge;
}
