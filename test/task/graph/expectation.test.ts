import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../src/task/graph/check.ts';
import { mine } from '../../../src/task/graph/miner.ts';
import type { EdgeKind, ToolGraph } from '../../../src/task/model.ts';
import { type Call, callsOf, type Trajectory } from '../../../src/trace/model.ts';
import { dataFile, dataPaths, HAS_DATA, readAll } from '../../trace/files.ts';
import { type NaivePair, naivePairs } from './naive.ts';

type Reasons = Record<string, number>;

/** A pair as both counters name it: its trajectory and later call, its two calls, and what lies between. */
interface Pair {
  key: string;
  earlier: Call;
  later: Call;
  between: readonly Call[];
}

async function read(folder: string): Promise<Trajectory[]> {
  const all: Trajectory[] = [];
  for (const path of dataPaths(folder, /\.(json|jsonl)$/)) {
    // Ids repeat between files; a witness is found again by the place in this list.
    for (const t of (await readAll(dataFile(path))).trajectories)
      all.push({ ...t, id: `${all.length} ${t.id}` });
  }
  return all;
}

/** The pairs behind all edges of a kind. */
function minedPairs(
  graph: ToolGraph,
  trajectories: readonly Trajectory[],
  kind: EdgeKind,
): Map<string, Pair> {
  const pairs = new Map<string, Pair>();
  const byId = new Map(trajectories.map((t) => [t.id, callsOf(t)]));
  for (const edge of graph.edges) {
    if (edge.kind !== kind) continue;
    for (const { trajectory, from, to } of edge.witnesses) {
      const calls = byId.get(trajectory) as Call[];
      const own = calls.filter(({ meta }) => !meta);
      const earlier = own[from] as Call;
      const later = own[to] as Call;
      const key = `${trajectory} ${later.id}`;
      pairs.set(key, {
        key,
        earlier,
        later,
        between: calls.slice(calls.indexOf(earlier) + 1, calls.indexOf(later)),
      });
    }
  }
  return pairs;
}

/** Why the miner sees a pair that the naive counter does not. */
function whyOurs({ earlier, later, between }: Pair): string {
  if (between.some(({ meta }) => meta)) return 'a meta call stands between';
  if (between.length > 0) return 'a call of the user stands between';
  return `${earlier.tool} → ${later.tool}`;
}

/** Why the miner does not see a pair that the naive counter does. */
function whyNaive({ earlier, later, kind }: NaivePair): string {
  if (earlier.caller !== later.caller) return 'across callers';
  if (earlier.meta || later.meta) return 'with a meta call';
  if (kind === 'state' && earlier.error !== null) return 'the write failed';
  return `${earlier.tool} → ${later.tool}`;
}

function tally(reasons: readonly string[]): Reasons {
  const counts: Reasons = {};
  for (const reason of [...reasons].sort()) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

interface Comparison {
  mined: number;
  naive: number;
  ours: Reasons;
  theirs: Reasons;
}

function compare(graph: ToolGraph, trajectories: readonly Trajectory[], kind: EdgeKind): Comparison {
  const mined = minedPairs(graph, trajectories, kind);
  const naive = new Map<string, NaivePair>();
  for (const pair of naivePairs(trajectories)) {
    if (pair.kind === kind) naive.set(`${pair.trajectory} ${pair.later.id}`, pair);
  }
  const ours = [...mined.values()].filter(({ key }) => !naive.has(key)).map(whyOurs);
  const theirs = [...naive].filter(([key]) => !mined.has(key)).map(([, pair]) => whyNaive(pair));
  return { mined: mined.size, naive: naive.size, ours: tally(ours), theirs: tally(theirs) };
}

const same = (count: number): Comparison => ({ mined: count, naive: count, ours: {}, theirs: {} });

/**
 * The figures of the table, for data, loose, state, retry, against the counter of `naive.ts`, which follows its words: tau-bench
 * 130 136 18 5 (here 136 136 18 7), tau2-bench 214 228 21 11 (214 229 21 11), livemcpbench 12 33 58 23 (12 32 58 22),
 * api-bank 75 76 6 0 (73 76 0 0; the six states are one authorisation token in two calls: it says who calls, not what is written, and
 * the miner counts it as `unidentified`), claude-code 13 38 33 17 (4 20 33 17; searching the structured copy
 * of results that the transcript keeps beside what the agent saw gives 8, and how the table came to 13 is not known).
 */
const EXPECTED: Record<string, Record<EdgeKind, Comparison> & { loose: number }> = {
  'tau-bench': {
    // The agent thinks between looking up and acting: the value flows all the same.
    data: { mined: 151, naive: 136, ours: { 'a meta call stands between': 15 }, theirs: {} },
    state: { mined: 13, naive: 18, ours: {}, theirs: { 'the write failed': 5 } },
    retry: { mined: 15, naive: 7, ours: { 'a meta call stands between': 8 }, theirs: {} },
    loose: 151,
  },
  'tau2-bench': {
    data: { mined: 222, naive: 214, ours: { 'a call of the user stands between': 8 }, theirs: {} },
    state: {
      mined: 23,
      naive: 21,
      ours: { 'a call of the user stands between': 9 },
      theirs: {
        // Two orders that are paid to one wallet: the wallet is shared, the written object is not.
        'modify_pending_order_items → exchange_delivered_order_items': 1,
        'return_delivered_order_items → return_delivered_order_items': 1,
        'the write failed': 5,
      },
    },
    retry: same(11),
    loose: 230,
  },
  livemcpbench: {
    // `route` looks for tools between two calls of them.
    data: { mined: 14, naive: 12, ours: { 'a meta call stands between': 2 }, theirs: {} },
    state: {
      mined: 50,
      naive: 58,
      // The presentation is named by the id that its creation gave back, not by an argument.
      ours: {
        'ppt/create_presentation → ppt/auto_generate_presentation': 3,
        'ppt/create_presentation → ppt/manage_text': 1,
        'ppt/create_presentation → ppt/switch_presentation': 1,
      },
      theirs: { 'the write failed': 13 },
    },
    retry: { mined: 37, naive: 22, ours: { 'a meta call stands between': 15 }, theirs: {} },
    loose: 29,
  },
  'api-bank': { data: same(73), state: same(0), retry: same(0), loose: 75 },
  'claude-code': {
    data: same(4),
    state: { mined: 31, naive: 33, ours: {}, theirs: { 'the write failed': 2 } },
    retry: same(17),
    loose: 17,
  },
  // MCP cassettes: four calls that share nothing.
  'misc-formats': { data: same(0), state: same(0), retry: same(0), loose: 0 },
};

describe.skipIf(!HAS_DATA)(
  'real traces, against the naive counts of ../shared/design/trace-formats.md',
  () => {
    it.each(Object.entries(EXPECTED))('%s: every difference has a reason', async (folder, expected) => {
      const trajectories = await read(folder);
      const graph = mine(trajectories, { minCount: 1, witnesses: Number.POSITIVE_INFINITY });
      expect(checkGraph(graph)).toEqual([]);
      const found = {
        data: compare(graph, trajectories, 'data'),
        state: compare(graph, trajectories, 'state'),
        retry: compare(graph, trajectories, 'retry'),
        loose: graph.sources.reduce((sum, { loose }) => sum + (loose ?? 0), 0),
      };
      expect(found).toEqual(expected);
    });
  },
);
