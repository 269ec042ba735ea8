import { Map as Persistent } from 'immutable';
import { hashHex } from '../../base/hash.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { canonicalJson } from '../../base/json.ts';
import type { Change, LogEntry, Snapshot } from '../kit.ts';
import { frozenCopy, sameJson } from './data.ts';

/** Objects of one kind by id. */
export type Table = Persistent<string, JsonObject>;
export type Tables = Persistent<string, Table>;

/** Name of one object. */
export interface Key {
  table: string;
  id: string;
}

/** Where the kit keeps the clock: an object like any other, so that it is restored, diffed and digested with the rest. */
export const CLOCK: Key = { table: 'clock', id: 'now' };

/** Plain tables: what a world is made from and what can be written to a file. */
export type PlainTables = Record<string, Record<string, JsonObject>>;

/** Tables of frozen copies of the given objects. */
export function tablesFrom(plain: PlainTables): Tables {
  return Persistent(
    Object.entries(plain).map(([name, objects]): [string, Table] => [
      name,
      Persistent(
        Object.entries(objects).map(([id, object]): [string, JsonObject] => [id, frozenCopy(object)]),
      ),
    ]),
  );
}

/**
 * One state of a world in the tree of its states. It knows its parent and the objects in which it may differ from
 * it, so that the difference of two states costs what happened between them, not their size.
 */
export class Version implements Snapshot {
  readonly world: string;
  readonly tables: Tables;
  readonly parent: Version | null;
  readonly depth: number;
  /** Objects written on the way here from the parent. */
  readonly written: readonly Key[];
  /** Draws of noise so far: the next draw depends on it, the content does not. */
  readonly draws: number;
  /** The call that led here; `null` at the root. */
  readonly entry: LogEntry | null;
  #digest = '';

  constructor(
    world: string,
    tables: Tables,
    step?: { parent: Version; written: readonly Key[]; draws: number; entry: LogEntry },
  ) {
    this.world = world;
    this.tables = tables;
    this.parent = step?.parent ?? null;
    this.depth = step ? step.parent.depth + 1 : 0;
    this.written = step?.written ?? [];
    this.draws = step?.draws ?? 0;
    this.entry = step?.entry ?? null;
  }

  digest(): string {
    if (!this.#digest) this.#digest = hashHex(canonicalJson(plainTables(this.tables)));
    return this.#digest;
  }

  object(key: Key): JsonObject | null {
    return this.tables.get(key.table)?.get(key.id) ?? null;
  }
}

/** The content as plain data, empty tables left out (a table that never was and an emptied one are the same). */
export function plainTables(tables: Tables): PlainTables {
  const plain: PlainTables = {};
  for (const [name, table] of tables) if (table.size > 0) plain[name] = Object.fromEntries(table);
  return plain;
}

/** Sorted ids of a table; kept as long as the table lives. */
export function idsOf(table: Table | undefined): readonly string[] {
  if (!table) return [];
  let ids = idLists.get(table);
  if (!ids) {
    ids = [...table.keys()].sort();
    idLists.set(table, ids);
  }
  return ids;
}
const idLists = new WeakMap<Table, readonly string[]>();

/** A table with one object put in; the list of ids goes along where it stays the same. */
export function putInto(table: Table, id: string, object: JsonObject): Table {
  const next = table.set(id, object);
  const ids = idLists.get(table);
  if (ids && next.size === table.size) idLists.set(next, ids);
  return next;
}

/**
 * Objects in which two versions differ, by table and id. Costs the writes between them and their common ancestor;
 * versions of different worlds (no ancestor) are compared object by object.
 */
export function differences(before: Version, after: Version): Change[] {
  const keys = new Map<string, Key>();
  const collect = (key: Key) => keys.set(`${key.table}:${key.id}`, key);
  if (!collectWritten(before, after, collect)) collectAll(before, after, collect);
  const changes: Change[] = [];
  for (const key of keys.values()) {
    const was = before.object(key);
    const is = after.object(key);
    if (!sameJson(was as Json, is as Json)) changes.push({ ...key, before: was, after: is });
  }
  return changes.sort((a, b) => order(a.table, b.table) || order(a.id, b.id));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function collectWritten(a: Version, b: Version, collect: (key: Key) => void): boolean {
  let left: Version | null = a;
  let right: Version | null = b;
  while (left && right && left !== right) {
    const deeper: Version = left.depth >= right.depth ? left : right;
    deeper.written.forEach(collect);
    if (deeper === left) left = left.parent;
    else right = right.parent;
  }
  return left !== null && left === right;
}

function collectAll(a: Version, b: Version, collect: (key: Key) => void): void {
  for (const version of [a, b])
    for (const [table, objects] of version.tables) {
      if (a.tables.get(table) === b.tables.get(table)) continue;
      for (const id of objects.keys()) collect({ table, id });
    }
}
