import type { Call } from '../../trace/model.ts';
import { canName, type Field, fieldOf, isConstantText, isDistinctive, isRoundNumber } from './fields.ts';
import { isTelling, type Leaf, type Leaves } from './leaves.ts';
import type { Slot, Tool } from './tools.ts';

/** A call as the rules see it. */
export interface Seen {
  call: Call;
  tool: Tool;
  /** Fine node. */
  node: number;
  /** Index among the trajectory's non-meta calls. */
  index: number;
  writes: boolean;
  args: Leaves;
  result: Leaves;
  /** Slot of each argument leaf. */
  slots: Slot[];
}

/** What a rule found: the leaf of the later call's arguments, and where the earlier call holds the same value. */
export interface Link {
  target: number;
  /** Index of the leaf. */
  source: number;
  /** In the earlier call's result, or among its arguments. */
  side: 'result' | 'args';
  /** Counts only if the value is an identifier somewhere in the corpus. */
  ifIdentifier: boolean;
  /** Does not count if this text is an identifier somewhere in the corpus: then that is the object that was written. */
  unless: string | null;
  /** Larger is stronger. */
  strength: number;
}

/**
 * True where an argument leaf can be evidence at all: long enough, no constant of every interface, and not an argument
 * that says how much to return (`limit`, `page_size`, `timeout`).
 */
export function canShowData(leaf: Leaf, field: Field, shortest: number): leaf is string | number {
  if (!isTelling(leaf, shortest)) return false;
  if (typeof leaf === 'number') return !field.paging;
  return !isConstantText(leaf) && !(field.paging && /^\d+$/.test(leaf));
}

/**
 * The data rule. For each argument leaf of the later call that can be evidence and is not among the earlier call's own
 * arguments (an echo), the best place in the earlier result that holds the same value in the same type. A failed call
 * has no output. Round numbers count only between fields of one name.
 * @param fresh called for every leaf that is no echo, with whether it was traced.
 */
export function findData(
  earlier: Seen,
  later: Seen,
  shortest: number,
  fresh: (target: number, traced: boolean) => void,
): Link[] {
  const links: Link[] = [];
  for (let target = 0; target < later.args.count; target++) {
    const value = later.args.values[target] as Leaf;
    const field = fieldOf(later.args.field(target));
    if (!canShowData(value, field, shortest)) continue;
    const hash = later.args.hashes[target] as number;
    if (earlier.args.find(value, hash) >= 0) continue;
    const link = earlier.call.error === null ? bestSource(earlier, later, target, field) : null;
    fresh(target, link !== null);
    if (link) links.push(link);
  }
  return links.sort((a, b) => b.strength - a.strength || a.target - b.target);
}

/** The place in the earlier result that a person would point at: same name, then an identifier, then the shallowest. */
function bestSource(earlier: Seen, later: Seen, target: number, field: Field): Link | null {
  const { result } = earlier;
  const value = later.args.values[target] as string | number;
  const hash = later.args.hashes[target] as number;
  let best: Link | null = null;
  for (let source = 0; source < result.count; source++) {
    if (result.hashes[source] !== hash || result.values[source] !== value) continue;
    const from = fieldOf(result.field(source));
    const sameName = from.name === field.name;
    if (typeof value === 'number' && isRoundNumber(value) && !sameName) continue;
    const around = fieldOf(result.around(source)).name;
    const named = sameName || (from.identifier && from.stem === '' && around === field.stem && around !== '');
    const strength =
      (named ? 4000 : 0) +
      (field.identifier ? 2000 : 0) +
      (from.identifier ? 1000 : 0) +
      (typeof value === 'string' ? Math.min(value.length, 100) : 0) -
      result.depth(source);
    if (!best || strength > best.strength) {
      best = { target, source, side: 'result', ifIdentifier: false, unless: null, strength };
    }
  }
  return best;
}

/**
 * The state rule. The earlier call wrote (and did not fail), and an argument of the later call names the same object: by an
 * identifier that the earlier call was given, or gave back. Where one of its arguments is named after what the tool works
 * on (`ticket` of `assign_ticket`), that is the written object, and the others are what it refers to. An equal value is not enough: the field must be one
 * that names objects (`id`, `order_id`, `path`), or the value an identifier elsewhere in the corpus under the same field.
 */
export function findState(earlier: Seen, later: Seen): Link[] {
  if (!earlier.writes || earlier.call.error !== null) return [];
  const own = ownObject(earlier);
  const links: Link[] = [];
  for (let target = 0; target < later.args.count; target++) {
    const value = later.args.values[target] as Leaf;
    if (typeof value === 'boolean' || !canName(value)) continue;
    const hash = later.args.hashes[target] as number;
    if (Number.isNaN(hash)) continue;
    const link = sameObject(earlier, later, target, value, hash, 'args');
    if (link && isScope(earlier, later, link)) continue;
    if (link && own >= 0 && !isNamedAfter(earlier, link.source)) {
      if (fieldOf(earlier.args.field(own)).identifier) continue;
      link.unless = String(earlier.args.values[own]);
    }
    const found = link ?? sameObject(earlier, later, target, value, hash, 'result');
    if (found) links.push(found);
  }
  return links.sort((a, b) => b.strength - a.strength || a.target - b.target);
}

/** Index of the argument that is named after what the tool works on, an identifier before others; −1 for none. */
function ownObject(seen: Seen): number {
  let own = -1;
  for (let i = 0; i < seen.args.count; i++) {
    const value = seen.args.values[i] as Leaf;
    if (typeof value === 'boolean' || !canName(value) || !isNamedAfter(seen, i)) continue;
    if (fieldOf(seen.args.field(i)).identifier) return i;
    if (own < 0) own = i;
  }
  return own;
}

function isNamedAfter({ args, tool }: Seen, at: number): boolean {
  const { stem } = fieldOf(args.field(at));
  return args.isTop(at) && stem !== '' && stem.split('_').every((word) => tool.nouns.includes(word));
}

function sameObject(
  earlier: Seen,
  later: Seen,
  target: number,
  value: string | number,
  hash: number,
  side: Link['side'],
): Link | null {
  const leaves = earlier[side];
  const to = fieldOf(later.args.field(target));
  let best: Link | null = null;
  for (let source = 0; source < leaves.count; source++) {
    if (leaves.hashes[source] !== hash || leaves.values[source] !== value) continue;
    const from = fieldOf(leaves.field(source));
    const certain = from.identifier && to.identifier;
    if (!certain && (typeof value === 'number' || isConstantText(value))) continue;
    if (side === 'result' && !isWritten(earlier, source, from)) continue;
    if (!isDistinctive(value) && !sameKind(from, stemsOf(earlier, side, source), to, later)) continue;
    if (!certain && !from.identifier && !to.identifier && from.stem !== to.stem) continue;
    const strength = (certain ? 200 : 0) + (from.name === to.name ? 100 : 0) - leaves.depth(source);
    if (!best || strength > best.strength)
      best = { target, source, side, ifIdentifier: !certain, unless: null, strength };
  }
  return best;
}

/**
 * True where a leaf of a write's result names the object written and not one that it refers to: a bare `id` at the top, an
 * identifier of the kind that the tool's name says (`reservation_id` from `book_reservation`), or any identifier at the top
 * where the call was given none.
 */
function isWritten(earlier: Seen, at: number, field: Field): boolean {
  const { result, args, tool } = earlier;
  if (!field.identifier || result.depth(at) > 2) return false;
  const kind = field.stem === '' ? fieldOf(result.around(at)).name : field.stem;
  if (kind === '' || kind.split('_').some((word) => tool.nouns.includes(word))) return true;
  if (!result.isTop(at)) return false;
  for (let i = 0; i < args.count; i++) if (fieldOf(args.field(i)).identifier) return false;
  return true;
}

/** What a bare `id` is the id of: the field around it, else the nouns of the tool's name. */
function stemsOf(seen: Seen, side: Link['side'], at: number): string[] {
  const around = fieldOf(seen[side].around(at)).name;
  return around === '' ? seen.tool.nouns : [around, ...seen.tool.nouns];
}

function sameKind(from: Field, fromStems: readonly string[], to: Field, later: Seen): boolean {
  const a = from.stem === '' ? fromStems : [from.stem];
  const b = to.stem === '' ? later.tool.nouns : [to.stem];
  return a.some((stem) => b.includes(stem));
}

/**
 * True where the shared identifier is only where both calls work (a repository, a workspace) and not what they work
 * on: both give it in the same field, another field of both names different objects, and the earlier tool's name
 * does not say that it works on the shared one.
 */
function isScope(earlier: Seen, later: Seen, link: Link): boolean {
  const shared = later.args.field(link.target);
  if (earlier.args.field(link.source) !== shared) return false;
  const { stem } = fieldOf(shared);
  if (stem !== '' && earlier.tool.words.includes(stem)) return false;
  for (let i = 0; i < earlier.args.count; i++) {
    const name = earlier.args.field(i);
    if (!earlier.args.isTop(i) || name === shared || !fieldOf(name).identifier) continue;
    for (let j = 0; j < later.args.count; j++) {
      if (!later.args.isTop(j) || later.args.field(j) !== name) continue;
      if (later.args.values[j] !== earlier.args.values[i]) return true;
    }
  }
  return false;
}

/**
 * The retry rule: the earlier call failed, and the later one, with other arguments or another tool, did not.
 * @returns the path of the first argument that differs (empty where the tool does), or `null` where it is no retry.
 */
export function findRetry(earlier: Seen, later: Seen): { path: string; value: string } | null {
  if (earlier.call.error === null || later.call.error !== null || later.call.result === undefined)
    return null;
  if (earlier.tool !== later.tool) return { path: '', value: later.tool.name };
  const before = byPath(earlier.args);
  const after = byPath(later.args);
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  const path = paths.find((name) => before.get(name) !== after.get(name));
  return path === undefined ? null : { path, value: String(after.get(path) ?? '') };
}

function byPath(leaves: Leaves): Map<string, Leaf> {
  const held = new Map<string, Leaf>();
  for (let i = 0; i < leaves.count; i++) held.set(leaves.path(i), leaves.values[i] as Leaf);
  return held;
}

/**
 * A value inside free text: an argument leaf of the later call, no echo, that stands delimited in a text of the earlier
 * result, or equals a leaf of another type there.
 */
export function findLoose(earlier: Seen, later: Seen, shortest: number): Link | null {
  if (earlier.call.error !== null) return null;
  for (let target = 0; target < later.args.count; target++) {
    const value = later.args.values[target] as Leaf;
    if (!canShowData(value, fieldOf(later.args.field(target)), shortest)) continue;
    if (earlier.args.find(value, later.args.hashes[target] as number) >= 0) continue;
    const text = String(value);
    for (let source = 0; source < earlier.result.count; source++) {
      const held = earlier.result.values[source] as Leaf;
      if (
        typeof held === 'string' ? standsIn(held, text) : typeof value === 'string' && String(held) === text
      ) {
        return { target, source, side: 'result', ifIdentifier: false, unless: null, strength: 0 };
      }
    }
  }
  return null;
}

const WORD = /[\p{L}\p{N}_]/u;

/** True where `part` stands in `text` with no letter or digit on either side of it. */
function standsIn(text: string, part: string): boolean {
  if (text.length < part.length) return false;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const before = text[at - 1];
    const after = text[at + part.length];
    if ((before === undefined || !WORD.test(before)) && (after === undefined || !WORD.test(after)))
      return true;
  }
  return false;
}
