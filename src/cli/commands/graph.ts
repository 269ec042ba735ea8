import { mineFiles } from '../../lab/mine.ts';
import type { MineEvent } from '../../lab/services.ts';
import { countEdges } from '../../task/graph/graph.ts';
import type { EdgeKind, ToolGraph } from '../../task/model.ts';
import type { Command } from '../command.ts';
import { findFiles } from '../files.ts';

type FileEvent = Extract<MineEvent, { type: 'file' }>;
type RejectedEvent = Extract<MineEvent, { type: 'rejected' }>;

const KINDS: EdgeKind[] = ['data', 'state', 'retry'];

/** Mines the tool graph of trace files and prints its counts by source. */
export const graph: Command = {
  usage: {
    name: 'graph',
    operands: 'FILES…',
    count: [1, Number.POSITIVE_INFINITY],
    summary: 'The tool graph of trace files: data, state and retry edges by source.',
    options: [],
  },
  async run(input, terminal) {
    const files: FileEvent[] = [];
    const rejected: RejectedEvent['rejection'][] = [];
    let mined: Extract<MineEvent, { type: 'mined' }> | undefined;
    for await (const event of mineFiles(findFiles(input.operands), () => performance.now())) {
      if (event.type === 'progress') terminal.progress('reading', event.done, event.total, event.unit);
      else if (event.type === 'rejected') rejected.push(event.rejection);
      else if (event.type === 'file') files.push(event);
      else mined = event;
    }
    if (!mined) return 1;
    const { graph: found, seconds } = mined;
    const sources = files.map((file) => describe(file, found));
    terminal.table(
      ['format', 'trajectories', 'calls', 'pairs', ...KINDS],
      byFormat(sources).map((row) => [
        row.format,
        row.trajectories,
        row.calls,
        row.pairs,
        ...KINDS.map((kind) => row.edges[kind]),
      ]),
    );
    terminal.say(
      'Pairs of adjacent calls, and how many of them show an edge of each kind; meta calls show none.',
    );
    terminal.say(
      `\n${found.nodes.length} nodes, ${found.edges.length} edges, ${found.clusters.length} clusters in ${seconds.toFixed(2)} s`,
    );
    if (found.pruned.rare)
      terminal.say(
        `${found.pruned.rare} edges seen in one pair only: counted above, and left out of the graph as rare.`,
      );
    for (const one of rejected) terminal.say([one.path, one.where, one.reason].filter(Boolean).join(': '));
    terminal.result({
      sources: sources.map((row) => ({ ...row, edges: { ...row.edges }, mined: { ...row.mined } })),
      nodes: found.nodes.length,
      edges: countEdges(found),
      clusters: found.clusters.map((cluster) => ({ ...cluster })),
      seconds,
      rejected: rejected.map((one) => ({ ...one })),
    });
    return sources.length === 0 && rejected.length > 0 ? 1 : 0;
  },
};

/** Counts of one file. `calls` and `pairs` are all that it holds; `mined` leaves out meta calls and pairs across callers. */
interface SourceRow {
  path: string;
  format: string;
  trajectories: number;
  calls: number;
  pairs: number;
  edges: Record<EdgeKind, number>;
  mined: { calls: number; pairs: number };
}

function describe({ path, origins, format, withCalls, calls }: FileEvent, found: ToolGraph): SourceRow {
  const row: SourceRow = {
    path,
    format,
    trajectories: withCalls,
    calls,
    pairs: calls - withCalls,
    edges: { data: 0, state: 0, retry: 0 },
    mined: { calls: 0, pairs: 0 },
  };
  for (const counts of found.sources.filter((one) => origins.includes(one.path))) {
    row.mined.calls += counts.calls;
    row.mined.pairs += counts.pairs;
    for (const kind of KINDS) row.edges[kind] += counts.edges[kind];
  }
  return row;
}

/** The rows of each format together. */
function byFormat(rows: readonly SourceRow[]): SourceRow[] {
  const sums = new Map<string, SourceRow>();
  for (const row of rows) {
    const sum = sums.get(row.format);
    if (!sum) {
      sums.set(row.format, { ...row, edges: { ...row.edges } });
      continue;
    }
    sum.trajectories += row.trajectories;
    sum.calls += row.calls;
    sum.pairs += row.pairs;
    for (const kind of KINDS) sum.edges[kind] += row.edges[kind];
  }
  return [...sums.values()];
}
