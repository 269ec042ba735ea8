import { mineFiles } from '../../lab/mine.ts';
import type { MineEvent } from '../../lab/services.ts';
import type { EdgeKind } from '../../task/model.ts';
import { findFiles } from '../files.ts';
import type { Command } from '../main.ts';

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
    const files = findFiles(input.operands);
    const rejected: Extract<MineEvent, { type: 'rejected' }>['rejection'][] = [];
    let mined: Extract<MineEvent, { type: 'mined' }> | undefined;
    for await (const event of mineFiles(files, () => performance.now())) {
      if (event.type === 'progress') terminal.progress('reading', event.done, event.total, event.unit);
      else if (event.type === 'rejected') rejected.push(event.rejection);
      else if (event.type === 'mined') mined = event;
    }
    if (!mined) return 1;
    const { graph: found, sources, seconds } = mined;
    terminal.table(
      ['source', 'trajectories', 'calls', 'pairs', ...KINDS],
      sources.map((s) => [s.source, s.trajectories, s.calls, s.pairs, ...KINDS.map((kind) => s.edges[kind])]),
    );
    terminal.say(
      `\n${found.nodes.length} nodes, ${found.edges.length} edges, ${found.clusters.length} clusters in ${seconds.toFixed(2)} s`,
    );
    for (const one of rejected) terminal.say(`${one.path}: ${one.where}: ${one.reason}`);
    const edges = Object.fromEntries(
      KINDS.map((kind) => [kind, found.edges.filter((edge) => edge.kind === kind).length]),
    );
    terminal.result({
      sources: sources.map((s) => ({ ...s, edges: { ...s.edges } })),
      nodes: found.nodes.length,
      edges,
      clusters: found.clusters.map((cluster) => ({ ...cluster })),
      seconds,
      rejected: rejected.map((one) => ({ ...one })),
    });
    return sources.length === 0 && rejected.length > 0 ? 1 : 0;
  },
};
