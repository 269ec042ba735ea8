import { hash53 } from '../../base/hash.ts';
import type { EdgeKind, GraphEdge, Witness } from '../model.ts';
import type { Doubt, Judge } from './judge.ts';
import { blankEvidence, type Evidence, KINDS } from './log.ts';
import type { Mined, SourceTally } from './miner.ts';
import type { FilledOptions } from './options.ts';

/** A piece of evidence that stands for its pair, with the hash by which witnesses are chosen. */
interface Ranked {
  row: number;
  order: number;
}

/** An edge while it is put together. */
export interface EdgeDraft {
  from: number;
  to: number;
  kind: number;
  count: number;
  ranks: GraphEdge['ranks'];
  bindings: { binding: number; count: number }[];
  witnesses: Ranked[];
}

/** Where the evidence leads: the node of each fine node, and the number of nodes. */
export interface Places {
  place: Int32Array;
  nodes: number;
}

export interface Collected {
  drafts: EdgeDraft[];
  /** Edges with too few pairs. */
  rare: number;
  /** For each edge that is left without evidence, the commonest reason. */
  doubted: Doubt[];
}

/**
 * Counts, for each edge, the pairs that show it, and puts together those with enough. Two passes, so that the many edges
 * that are cut cost a number each. `tell` hears of every pair that shows an edge.
 */
export function collectEdges(
  mined: Mined,
  places: Places,
  judge: Judge,
  options: FilledOptions,
  tell: (source: SourceTally, kind: EdgeKind) => void,
): Collected {
  const counts = new Map<number, number>();
  const doubts = new Map<number, Map<Doubt, number>>();
  eachPair(mined, places, judge, (key, e, rows, doubt) => {
    if (rows.length > 0) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      tell((mined.origins[e.trajectory] as Mined['origins'][number]).source, KINDS[e.kind] as EdgeKind);
    } else if (doubt) {
      const held = doubts.get(key) ?? new Map<Doubt, number>();
      held.set(doubt, (held.get(doubt) ?? 0) + 1);
      doubts.set(key, held);
    }
  });
  const drafts = new Map<number, EdgeDraft>();
  eachPair(mined, places, judge, (key, e, rows) => {
    const count = counts.get(key) ?? 0;
    if (rows.length === 0 || count < options.minCount) return;
    let draft = drafts.get(key);
    if (!draft) {
      const from = places.place[e.start] as number;
      const to = places.place[e.end] as number;
      draft = { from, to, kind: e.kind, count, ranks: {}, bindings: [], witnesses: [] };
      drafts.set(key, draft);
    }
    addPair(draft, e, rows, mined, options.witnesses);
  });
  let rare = 0;
  for (const count of counts.values()) if (count < options.minCount) rare++;
  const doubted: Doubt[] = [];
  for (const [edge, reasons] of doubts) {
    if (counts.has(edge)) continue;
    const first = [...reasons].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0];
    if (first) doubted.push(first[0]);
  }
  return { drafts: [...drafts.values()], rare, doubted };
}

/**
 * Goes through the evidence a pair and a kind at a time.
 * @param visit hears the edge's key, one piece of its evidence, the rows that count, the
 * strongest first, and why the strongest that does not count does not.
 */
function eachPair(
  { log }: Mined,
  { place, nodes }: Places,
  judge: Judge,
  visit: (key: number, e: Evidence, rows: readonly number[], doubt: Doubt | null) => void,
): void {
  const next = blankEvidence();
  const e = blankEvidence();
  const rows: number[] = [];
  for (let i = 0; i < log.count; ) {
    log.read(i, e);
    rows.length = 0;
    let doubt: Doubt | null = null;
    for (; i < log.count; i++) {
      log.read(i, next);
      if (next.pair !== e.pair || next.kind !== e.kind) break;
      const why = judge(next, log.hash(i));
      if (why) doubt ??= why;
      else rows.push(i);
    }
    const key = ((place[e.start] as number) * nodes + (place[e.end] as number)) * KINDS.length + e.kind;
    visit(key, e, rows, doubt);
  }
}

function addPair(draft: EdgeDraft, e: Evidence, rows: readonly number[], mined: Mined, cap: number): void {
  const origin = mined.origins[e.trajectory] as Mined['origins'][number];
  draft.ranks[origin.rank] = (draft.ranks[origin.rank] ?? 0) + 1;
  const order = hash53(`${origin.id}\n${e.from}\n${e.to}`);
  keepWitness(draft.witnesses, cap, { row: rows[0] as number, order }, mined);
  const counted: number[] = [];
  for (const row of rows) {
    const binding = mined.log.binding(row);
    if (binding < 0 || counted.includes(binding)) continue;
    counted.push(binding);
    const held = draft.bindings.find((one) => one.binding === binding);
    if (held) held.count++;
    else draft.bindings.push({ binding, count: 1 });
  }
}

/** Keeps the `cap` witnesses with the smallest hash, in order. */
function keepWitness(kept: Ranked[], cap: number, witness: Ranked, mined: Mined): void {
  if (kept.length >= cap && compareWitnesses(kept.at(-1) as Ranked, witness, mined) <= 0) return;
  let at = kept.length;
  while (at > 0 && compareWitnesses(kept[at - 1] as Ranked, witness, mined) > 0) at--;
  kept.splice(at, 0, witness);
  if (kept.length > cap) kept.pop();
}

function compareWitnesses(a: Ranked, b: Ranked, mined: Mined): number {
  if (a.order !== b.order) return a.order - b.order;
  return compareText(JSON.stringify(witnessAt(mined, a.row)), JSON.stringify(witnessAt(mined, b.row)));
}

/** The witness that row `row` of the log is. */
export function witnessAt({ log, origins, texts }: Mined, row: number): Witness {
  const e = log.read(row, blankEvidence());
  const origin = origins[e.trajectory] as Mined['origins'][number];
  return {
    trajectory: origin.id,
    file: origin.file,
    from: e.from,
    to: e.to,
    source: texts.texts[e.source] as string,
    target: texts.texts[e.target] as string,
    value: log.value(row),
  };
}

/** Order of code units. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
