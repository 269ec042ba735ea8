import { hashValue } from './leaves.ts';
import { blankEvidence, type Evidence, KINDS } from './log.ts';
import type { Mined } from './miner.ts';
import type { FilledOptions } from './options.ts';
import { fromTool, mixKey } from './sketch.ts';
import type { FineNode, Slot, Tool } from './tools.ts';

/**
 * Why a piece of evidence does not count: the argument is enumerated; the value is a constant of it; or is met by
 * chance; names no object (state); or names one that the write only refers to (state).
 */
export type Doubt = 'enumerated' | 'constant' | 'untraceable' | 'unidentified' | 'reference';

/** Judges a piece of evidence; `hash` is that of its value. */
export type Judge = (evidence: Evidence, hash: number) => Doubt | null;

/** The judge of a corpus. */
export function judgeOf(mined: Mined, enumerated: ReadonlySet<Slot>, options: FilledOptions): Judge {
  const doubt = doubter(mined, enumerated, options);
  return (evidence, hash) => doubtOf(evidence, hash, doubt, mined);
}

/** Judges a value in a slot, for evidence in which `tool` was called before. */
type ValueJudge = (slot: number, hash: number, tool: Tool) => Doubt | null;

/**
 * How common a value is, judged once for each slot and earlier tool: a constant of the slot; or one that the caller
 * chooses, and that outputs hold by chance. An identifier is doubted only where it is seldom traced: that a list holds all
 * identifiers, or the corpus only one, does not make it a constant. @see CommonTest
 */
function doubter(mined: Mined, enumerated: ReadonlySet<Slot>, { common }: FilledOptions): ValueJudge {
  const { log, table, support, fresh, held, identifiers } = mined;
  const traced = new Map<number, number>();
  const count = (key: number): void => {
    traced.set(key, (traced.get(key) ?? 0) + 1);
  };
  const e = blankEvidence();
  for (let i = 0; i < log.count; i++) {
    if (KINDS[log.read(i, e).kind] !== 'data') continue;
    const key = mixKey(log.hash(i), (table.slots[e.slot] as Slot).salt);
    if (support.get(key) < common.support) continue;
    count(key);
    count(fromTool(key, (table.nodes[e.start] as FineNode).tool.salt));
  }
  const judge = (slot: Slot, hash: number, key: number, tool: Tool): Doubt | null => {
    const isIdentifier = identifiers.has(hash);
    if (!isIdentifier && support.get(key) > common.share * slot.trajectories) return 'constant';
    if ((traced.get(key) ?? 0) < common.traced * fresh.get(key)) return 'untraceable';
    if (isIdentifier || tool.returned < common.support) return null;
    const chance = held.get(mixKey(hash, tool.salt)) / tool.returned;
    const pair = fromTool(key, tool.salt);
    return (traced.get(pair) ?? 0) < common.lift * chance * fresh.get(pair) ? 'untraceable' : null;
  };
  const verdicts = new Map<number, Doubt | null>();
  return (at, hash, tool) => {
    const slot = table.slots[at] as Slot;
    if (enumerated.has(slot)) return 'enumerated';
    const key = mixKey(hash, slot.salt);
    if (support.get(key) < common.support) return null;
    const place = fromTool(key, tool.salt);
    let verdict = verdicts.get(place);
    if (verdict === undefined) {
      verdict = judge(slot, hash, key, tool);
      verdicts.set(place, verdict);
    }
    return verdict;
  };
}

function doubtOf(e: Evidence, hash: number, doubt: ValueJudge, mined: Mined): Doubt | null {
  const { tool } = mined.table.nodes[e.start] as FineNode;
  if (KINDS[e.kind] === 'retry') return null;
  if (KINDS[e.kind] === 'data') return doubt(e.slot, hash, tool);
  const unless = e.unless < 0 ? null : (mined.texts.texts[e.unless] as string);
  if (unless !== null && mined.identifiers.has(hashValue(unless))) return 'reference';
  if (e.ifIdentifier === 1) {
    if (!mined.identifiers.has(hash)) return 'unidentified';
    if (doubt(e.slot, hash, tool) === 'enumerated') return 'enumerated';
  }
  return null;
}
