import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts';
import type { Change, Snapshot, World } from '../../world/kit.ts';
import type { StateAssertion } from '../model.ts';

/** The table in which the kit keeps its clock: time passing is no effect of a call. */
const CLOCK = 'clock';

/** Objects that differ between two states, time apart, as assertions on the later state. */
export function assertionsBetween(world: World, before: Snapshot, after: Snapshot): StateAssertion[] {
  return world
    .diff(before, after)
    .filter(({ table }) => table !== CLOCK)
    .map(assertionOf);
}

/** What a change asserts: of a new object all fields, of a changed one those that differ, of a removed one its absence. */
export function assertionOf({ table, id, before, after }: Change): StateAssertion {
  if (after === null) return { table, id, fields: null };
  if (before === null) return { table, id, fields: after };
  const fields: JsonObject = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const is = after[name] ?? null;
    if (canonicalJson(before[name] ?? null) !== canonicalJson(is)) fields[name] = is;
  }
  return { table, id, fields };
}

/** `ticket T-12`: how a verdict names an object. */
export function nameOf({ table, id }: { table: string; id: string }): string {
  return `${table} ${id}`;
}

/** A value as a verdict shows it, cut to 80 characters. */
export function show(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : canonicalJson(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** One sentence for each way in which what happened differs from what was asserted; empty where both are the same. */
export function compareChanges(
  expected: readonly StateAssertion[],
  actual: readonly StateAssertion[],
): string[] {
  const failures: string[] = [];
  const left = new Map(actual.map((change) => [nameOf(change), change]));
  for (const wanted of expected) {
    const name = nameOf(wanted);
    const got = left.get(name);
    left.delete(name);
    if (!got) failures.push(`${name} should have changed and did not: ${show(wanted.fields)}`);
    else failures.push(...compareFields(name, wanted.fields, got.fields));
  }
  for (const got of left.values())
    failures.push(`${nameOf(got)} changed and nothing asked for it: ${show(got.fields)}`);
  return failures;
}

function compareFields(name: string, wanted: JsonObject | null, got: JsonObject | null): string[] {
  if (wanted === null || got === null) {
    if (wanted === got) return [];
    return [wanted === null ? `${name} should be gone and is there` : `${name} should be there and is gone`];
  }
  const failures: string[] = [];
  for (const field of new Set([...Object.keys(wanted), ...Object.keys(got)])) {
    if (canonicalJson(wanted[field] ?? null) === canonicalJson(got[field] ?? null)) continue;
    if (!(field in wanted))
      failures.push(`${field} of ${name} changed to ${show(got[field])} and nothing asked for it`);
    else if (!(field in got)) failures.push(`${field} of ${name} should have become ${show(wanted[field])}`);
    else failures.push(`${field} of ${name} should be ${show(wanted[field])} and is ${show(got[field])}`);
  }
  return failures;
}
