import { invariant } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import { frozenCopy } from './data.ts';
import { CLOCK, idsOf, type Key, putInto, type Tables, tablesFrom, type Version } from './state.ts';
import type { ToolContext } from './tools.ts';

/** Hours on the clock of a state; 0 where it has none. */
export function hoursOf(version: Version): number {
  const hours = version.object(CLOCK)?.hours;
  return typeof hours === 'number' ? hours : 0;
}

/** The state a tool works on: reads through to a version, keeps its writes to itself until they are taken over. */
export class Draft implements ToolContext {
  tables: Tables;
  readonly #written = new Map<string, Key>();
  readonly #touched = new Set<string>();
  #now: number;

  constructor(version: Version) {
    this.tables = version.tables;
    this.#now = hoursOf(version);
  }

  get now(): number {
    return this.#now;
  }

  get written(): readonly Key[] {
    return [...this.#written.values()];
  }

  get touched(): string[] {
    return [...this.#touched];
  }

  get(table: string, id: string): JsonObject | null {
    const object = this.tables.get(table)?.get(id) ?? null;
    if (object) this.#touched.add(`${table}:${id}`);
    return object;
  }

  select(table: string, fits: (object: JsonObject) => boolean): JsonObject[] {
    const objects = this.tables.get(table);
    const found: JsonObject[] = [];
    for (const id of idsOf(objects)) {
      const object = objects?.get(id);
      if (!object || !fits(object)) continue;
      this.#touched.add(`${table}:${id}`);
      found.push(object);
    }
    return found;
  }

  put(table: string, id: string, object: JsonObject): void {
    const objects = this.tables.get(table) ?? EMPTY;
    this.tables = this.tables.set(table, putInto(objects, id, frozenCopy(object)));
    this.#note(table, id);
  }

  patch(table: string, id: string, fields: JsonObject): JsonObject {
    const object = this.tables.get(table)?.get(id);
    invariant(isObject(object as Json), `${table}:${id} exists where it is changed`);
    const next = { ...object, ...fields };
    this.put(table, id, next);
    return next;
  }

  remove(table: string, id: string): void {
    const objects = this.tables.get(table);
    if (!objects?.has(id)) return;
    this.tables = this.tables.set(table, objects.delete(id));
    this.#note(table, id);
  }

  advance(hours: number): void {
    invariant(hours >= 0, 'time passes forwards');
    this.#now += hours;
    this.put(CLOCK.table, CLOCK.id, { hours: this.#now });
  }

  #note(table: string, id: string): void {
    const name = `${table}:${id}`;
    this.#written.set(name, { table, id });
    this.#touched.add(name);
  }
}

const EMPTY = tablesFrom({ empty: {} }).get('empty')!;
