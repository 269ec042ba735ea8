import { LabError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { canonicalJson, isObject } from '../../base/json.ts';
import { Rng } from '../../base/rng.ts';
import type { CallError, Change, LogEntry, Noise, Observation, Snapshot, World, WorldTool } from '../kit.ts';
import { drawFailure, QUIET } from '../kit.ts';
import { frozenCopy, isPlain } from './data.ts';
import { Draft, hoursOf } from './draft.ts';
import {
  CLOCK,
  differences,
  idsOf,
  type Key,
  type PlainTables,
  type Tables,
  tablesFrom,
  Version,
} from './state.ts';
import { isRefusal, type Toolbox } from './tools.ts';

/** What a world is made of. */
export interface WorldParts {
  id: string;
  toolbox: Toolbox;
  /** Objects at the start, by table and id. The table `clock` belongs to the kit. */
  tables: PlainTables;
  /** Hours on the clock at the start. */
  hours: number;
  /** Noise draws from this seed alone. */
  seed: number | string;
  noise?: Noise;
}

/**
 * A running world over tables of plain JSON objects. A call costs what it touches; `snapshot` and `restore` cost
 * nothing; states share all that did not change.
 *
 * Noise: whether the n-th drawn call fails depends on (seed, n, tool, arguments), and n is part of the state, so that
 * a replay meets the same failures, and after a rollback another call has another fate. n is no content: two
 * states with the same objects have the same digest however many calls were made.
 *
 * @throws LabError where `tables` holds something that is not a plain JSON object, or a table `clock`.
 */
export function createWorld(parts: WorldParts): World {
  for (const [table, objects] of Object.entries(parts.tables)) {
    for (const [id, object] of Object.entries(objects)) {
      if (table !== CLOCK.table && isObject(object) && isPlain(object)) continue;
      throw new LabError('not an object that a world can hold', {
        where: `${parts.id}, ${table}:${id}`,
        remedy: 'tables hold plain JSON objects, and the table "clock" is the kit’s own',
      });
    }
  }
  return new KitWorld(parts);
}

class KitWorld implements World {
  readonly id: string;
  readonly #toolbox: Toolbox;
  readonly #seed: string;
  readonly #noise: Noise;
  #version: Version;
  /** The log of `#version`; `null` until somebody asks. */
  #log: LogEntry[] | null = null;

  constructor({ id, toolbox, tables, hours, seed, noise = QUIET }: WorldParts) {
    this.id = id;
    this.#toolbox = toolbox;
    this.#seed = String(seed);
    this.#noise = noise;
    this.#version = new Version(id, tablesFrom({ ...tables, [CLOCK.table]: { [CLOCK.id]: { hours } } }));
  }

  get tools(): readonly WorldTool[] {
    return this.#toolbox.declarations;
  }

  get log(): readonly LogEntry[] {
    if (!this.#log) {
      this.#log = [];
      for (let v: Version | null = this.#version; v?.entry; v = v.parent) this.#log.push(v.entry);
      this.#log.reverse();
    }
    return this.#log;
  }

  now(): number {
    return hoursOf(this.#version);
  }

  call(name: string, args: Json): Observation {
    const tool = this.#toolbox.find(name);
    if (!tool)
      return this.#refused(name, args, { code: 'unknown_tool', message: `there is no tool "${name}"` });
    const wrong = tool.check(args);
    if (wrong) return this.#refused(name, args, wrong);
    const given = frozenCopy(args as JsonObject);
    const effect = tool.declaration.effect;
    let draws = this.#version.draws;
    if ((effect === 'read' ? this.#noise.read : this.#noise.write) > 0) {
      const stream = new Rng(`${this.#seed}/noise/${draws}/${name}/${canonicalJson(given)}`);
      draws++;
      const failure = drawFailure(stream, this.#noise, effect);
      if (failure) return this.#refused(name, given, failure, [], draws);
    }
    const draft = new Draft(this.#version);
    const value = tool.run(given, draft);
    if (isRefusal(value)) return this.#refused(name, given, value.error, draft.touched, draws);
    const observation: Observation = Object.freeze({ ok: true, value: frozenCopy(value) });
    const { tables, written, touched } = draft;
    return this.#step(tables, written, draws, { tool: name, args: given, observation, touched });
  }

  snapshot(): Snapshot {
    return this.#version;
  }

  restore(snapshot: Snapshot): void {
    const version = this.#own(snapshot);
    if (version === this.#version) return;
    this.#version = version;
    this.#log = null;
  }

  diff(before: Snapshot, after: Snapshot): Change[] {
    return differences(this.#own(before), this.#own(after));
  }

  object(table: string, id: string): JsonObject | null {
    return this.#version.object({ table, id });
  }

  ids(table: string): string[] {
    return [...idsOf(this.#version.tables.get(table))];
  }

  #refused(
    tool: string,
    args: Json,
    error: CallError,
    touched: string[] = [],
    draws = this.#version.draws,
  ): Observation {
    const observation: Observation = Object.freeze({ ok: false, error: Object.freeze(error) });
    const given = isPlain(args) ? frozenCopy(isObject(args) ? args : { arguments: args }) : NOT_DATA;
    return this.#step(this.#version.tables, [], draws, { tool, args: given, observation, touched });
  }

  #step(tables: Tables, written: readonly Key[], draws: number, entry: LogEntry): Observation {
    Object.freeze(entry.touched);
    this.#version = new Version(this.id, tables, {
      parent: this.#version,
      written,
      draws,
      entry: Object.freeze(entry),
    });
    this.#log = null;
    return entry.observation;
  }

  #own(snapshot: Snapshot): Version {
    if (snapshot instanceof Version && snapshot.world === this.id) return snapshot;
    throw new LabError(`a snapshot of "${snapshot.world}" is no state of "${this.id}"`, {
      where: 'snapshot',
      remedy: 'take the snapshot from a world of the same kind',
    });
  }
}

/** What the log says of arguments that are no plain data. Refused when replayed, as every call with such arguments. */
const NOT_DATA: JsonObject = Object.freeze({ arguments: null });
