import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts';
import type { StateAssertion, Task, Verdict } from '../model.ts';
import { isEnvironmental } from '../walk/walk.ts';
import { assertionsBetween, compareChanges, nameOf, show } from './changes.ts';
import { matchCreated, rename } from './created.ts';
import { attempt } from './replay.ts';
import { type Bench, openBench, worldDefinition } from './worlds.ts';

/** A call of a policy. */
export interface Attempt {
  tool: string;
  args: JsonObject;
}

/**
 * Judges a policy's episode by its outcome: its calls are carried out from s0 without noise. V_state must hold exactly
 * (nothing else may differ from s0), every object must have gone through the states of V_trace in their order and no
 * others, and the answers must be those of V_out, in order. Reads are free; so is the order of writes on different
 * objects, unless the world refuses it. A refused call changes nothing and by itself fails nothing.
 * @throws LabError where the task's world is not known.
 */
export function grade(task: Task, calls: readonly Attempt[], answers: readonly Json[]): Verdict {
  return gradeOn(openBench(worldDefinition(task.world), task.worldSeed), task, calls, answers);
}

/** `grade` in a world that is open and stands at s0. */
export function gradeOn(
  bench: Bench,
  task: Task,
  calls: readonly Attempt[],
  answers: readonly Json[],
): Verdict {
  const { world, start } = bench;
  const steps: StateAssertion[] = [];
  const broken: string[] = [];
  for (const { tool, args } of calls) {
    const before = world.snapshot();
    const observation = attempt(() => world.call(tool, args));
    if (typeof observation === 'string') broken.push(observation);
    else if (observation.ok) steps.push(...assertionsBetween(world, before, world.snapshot()));
    else if (isEnvironmental(observation.error.code)) broken.push(observation.error.message);
  }
  if (broken.length > 0) return { task: task.id, passed: false, failures: broken, fault: 'environment' };
  const end = assertionsBetween(world, start, world.snapshot());
  world.restore(start);
  const asked = task.assertions.trace.flatMap(({ changes }) => changes);
  const isNew = ({ table, id }: StateAssertion) => world.object(table, id) === null;
  const names = matchCreated(asked, steps, isNew);
  const failures = [
    ...compareChanges(task.assertions.state, rename(end, names)),
    ...compareHistories(historiesOf(asked), historiesOf(rename(steps, names))),
    ...compareAnswers(
      task.assertions.out.map(({ value }) => value),
      answers,
    ),
  ];
  if (failures.length === 0) return { task: task.id, passed: true, failures };
  return { task: task.id, passed: false, failures: [...new Set(failures)], fault: 'agent' };
}

function compareAnswers(wanted: readonly Json[], given: readonly Json[]): string[] {
  const failures: string[] = [];
  for (let i = 0; i < Math.max(wanted.length, given.length); i++) {
    const expected = wanted[i];
    const got = given[i];
    if (expected === undefined) failures.push(`the answer ${show(got)} was not asked for`);
    else if (got === undefined) failures.push(`the answer ${show(expected)} is missing`);
    else if (canonicalJson(expected) !== canonicalJson(got)) {
      failures.push(`answer ${i + 1} should be ${show(expected)} and is ${show(got)}`);
    }
  }
  return failures;
}

/** The changes of each object, in order. */
function historiesOf(changes: readonly StateAssertion[]): Map<string, StateAssertion[]> {
  const histories = new Map<string, StateAssertion[]>();
  for (const change of changes) {
    const name = nameOf(change);
    histories.set(name, [...(histories.get(name) ?? []), change]);
  }
  return histories;
}

function compareHistories(
  wanted: ReadonlyMap<string, StateAssertion[]>,
  got: ReadonlyMap<string, StateAssertion[]>,
): string[] {
  const failures: string[] = [];
  for (const name of new Set([...wanted.keys(), ...got.keys()])) {
    const asked = wanted.get(name) ?? [];
    const made = got.get(name) ?? [];
    for (let k = 0; k < Math.max(asked.length, made.length); k++) {
      const expected = asked[k];
      const actual = made[k];
      if (!expected) failures.push(`${name} was changed ${made.length} times, asked for is ${asked.length}`);
      else if (!actual)
        failures.push(`${name} was changed ${made.length} times, asked for is ${asked.length}`);
      else
        failures.push(
          ...compareChanges([expected], [actual]).map((failure) => `change ${k + 1} of ${failure}`),
        );
    }
  }
  return failures;
}
