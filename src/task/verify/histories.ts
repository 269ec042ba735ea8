import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts';
import type { StateAssertion } from '../model.ts';
import { isEnvironmental } from '../walk/walk.ts';
import { assertionsBetween, compareChanges, nameOf } from './changes.ts';
import { matchCreated, rename } from './created.ts';
import { attempt } from './replay.ts';
import type { Bench } from './worlds.ts';

/** A call as a policy makes it. */
export interface Attempt {
  tool: string;
  args: JsonObject;
}

/** What came of carrying out calls from s0. */
export interface Played {
  /** What each accepted call changed, in order. Where time passes, the time of the call is written `{ "now": true }`. */
  steps: StateAssertion[];
  /** What differs from s0 at the end. */
  end: StateAssertion[];
  /** Failures of the environment, a sentence each. */
  broken: string[];
  /** Calls that were refused, whoever is to blame. */
  refused: number;
  /** Whether the clock moved: then times depend on the order of calls, and are compared as such. */
  timed: boolean;
}

/** Carries out calls from s0, and takes the world back there. */
export function play(bench: Bench, calls: readonly Attempt[]): Played {
  const { world, start } = bench;
  world.restore(start);
  const opening = world.now();
  const played: Played = { steps: [], end: [], broken: [], refused: 0, timed: false };
  for (const { tool, args } of calls) {
    const before = world.snapshot();
    const earlier = world.now();
    const observation = attempt(() => world.call(tool, args));
    if (typeof observation === 'string') played.broken.push(observation);
    else if (observation.ok) {
      const changes = assertionsBetween(world, before, world.snapshot());
      played.steps.push(...stamp(changes, [earlier, world.now()], opening));
    } else {
      played.refused++;
      if (isEnvironmental(observation.error.code)) played.broken.push(observation.error.message);
    }
  }
  played.timed = world.now() !== opening;
  played.end = assertionsBetween(world, start, world.snapshot());
  world.restore(start);
  return played;
}

/** Times of the call itself, where the clock has moved since the world was opened. */
function stamp(changes: StateAssertion[], times: readonly number[], opening: number): StateAssertion[] {
  if (times.every((time) => time === opening)) return changes;
  return changes.map(({ table, id, fields }) => ({
    table,
    id,
    fields:
      fields && Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, mark(value, times)])),
  }));
}

function mark(value: Json, times: readonly number[]): Json {
  return typeof value === 'number' && times.includes(value) ? { now: true } : value;
}

/**
 * Compares what objects went through, each by itself: one sentence for each difference. Objects that were created are
 * paired by what happened to them, whatever the world called them.
 */
export function compareHistories(
  bench: Bench,
  asked: readonly StateAssertion[],
  made: readonly StateAssertion[],
): { failures: string[]; names: Map<string, string> } {
  const names = matchCreated(asked, made, ({ table, id }) => bench.world.object(table, id) === null);
  const wanted = historiesOf(asked);
  const got = historiesOf(rename(made, names));
  const failures: string[] = [];
  for (const name of new Set([...wanted.keys(), ...got.keys()])) {
    const expected = wanted.get(name) ?? [];
    const actual = got.get(name) ?? [];
    for (let k = 0; k < Math.max(expected.length, actual.length); k++) {
      const [one, other] = [expected[k], actual[k]];
      const found = compareChanges(one ? [one] : [], other ? [other] : []);
      failures.push(...found.map((failure) => `change ${k + 1}: ${failure}`));
    }
  }
  return { failures, names };
}

/** The changes of each object, in order. */
function historiesOf(changes: readonly StateAssertion[]): Map<string, StateAssertion[]> {
  const histories = new Map<string, StateAssertion[]>();
  for (const change of changes) {
    const name = nameOf(change);
    const held = histories.get(name);
    if (held) held.push(change);
    else histories.set(name, [change]);
  }
  return histories;
}

/** Compares answers in order, a sentence for each that is wrong, missing or unasked. */
export function compareAnswers(
  wanted: readonly Json[],
  given: readonly Json[],
  show: (value: Json) => string,
): string[] {
  const failures: string[] = [];
  for (let i = 0; i < Math.max(wanted.length, given.length); i++) {
    const expected = wanted[i];
    const got = given[i];
    if (expected === undefined) failures.push(`the answer ${show(got as Json)} was not asked for`);
    else if (got === undefined) failures.push(`the answer ${show(expected)} is missing`);
    else if (canonicalJson(expected) !== canonicalJson(got)) {
      failures.push(`answer ${i + 1} should be ${show(expected)} and is ${show(got)}`);
    }
  }
  return failures;
}
