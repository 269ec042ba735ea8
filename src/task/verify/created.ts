import { canonicalJson, isObject, type Json, type JsonObject } from '../../base/json.ts';
import type { StateAssertion } from '../model.ts';

/**
 * Pairs the objects that an episode created with those that the reference created, by what happened to them, their
 * identifiers aside: a world that numbers its objects numbers them otherwise where independent writes change places.
 * @returns identifiers of the reference by identifiers of the episode, where the two differ.
 */
export function matchCreated(
  asked: readonly StateAssertion[],
  made: readonly StateAssertion[],
  isNew: (change: StateAssertion) => boolean,
): Map<string, string> {
  const wanted = portraits(asked.filter(isNew));
  const got = portraits(made.filter(isNew));
  const names = new Map<string, string>();
  for (const [id, portrait] of got) {
    if (wanted.get(id) !== portrait) continue;
    wanted.delete(id);
    got.delete(id);
  }
  for (const [id, portrait] of got) {
    for (const [other, expected] of wanted) {
      if (expected !== portrait) continue;
      names.set(id, other);
      wanted.delete(other);
      break;
    }
  }
  return names;
}

/** The changes with identifiers replaced, wherever a field holds one. */
export function rename(
  changes: readonly StateAssertion[],
  names: ReadonlyMap<string, string>,
): StateAssertion[] {
  if (names.size === 0) return [...changes];
  return changes.map(({ table, id, fields }) => ({
    table,
    id: names.get(id) ?? id,
    fields: fields === null ? null : (replace(fields, names) as JsonObject),
  }));
}

/** What happened to each object, as text in which no created object has its own name. */
function portraits(changes: readonly StateAssertion[]): Map<string, string> {
  const masks = new Map(changes.map(({ table, id }) => [id, `§${table}`]));
  const texts = new Map<string, string>();
  for (const { table, id, fields } of changes) {
    const text = fields === null ? 'null' : canonicalJson(replace(fields, masks));
    texts.set(id, `${texts.get(id) ?? table} ${text}`);
  }
  return texts;
}

function replace(value: Json, names: ReadonlyMap<string, string>): Json {
  if (typeof value === 'string') return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => replace(item, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replace(item, names)]));
}
