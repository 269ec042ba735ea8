import type { Json } from '../../base/json.ts';
import type { Task, Verdict } from '../model.ts';
import { compareChanges, show } from './changes.ts';
import { rename } from './created.ts';
import { type Attempt, compareAnswers, compareHistories, play } from './histories.ts';
import { type Bench, openBench, worldDefinition } from './worlds.ts';

export type { Attempt } from './histories.ts';

/**
 * Judges a policy's episode by its outcome: its calls are carried out from s0 without noise. V_state must hold exactly
 * (nothing else may differ from s0), every object must have gone through the changes of V_trace in their order and no
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
  const played = play(bench, calls);
  if (played.broken.length > 0) {
    return { task: task.id, passed: false, failures: played.broken, fault: 'environment' };
  }
  const { state, trace, out } = task.assertions;
  // Where time passes, V_trace is what the reference does to the clock's readings, not the readings themselves.
  const asked = played.timed ? play(bench, task.chain).steps : trace.flatMap(({ changes }) => changes);
  const { failures: astray, names } = compareHistories(bench, asked, played.steps);
  const failures = [
    ...(played.timed ? [] : compareChanges(state, rename(played.end, names))),
    ...astray,
    ...compareAnswers(
      out.map(({ value }) => value),
      answers,
      show,
    ),
  ];
  if (failures.length === 0) return { task: task.id, passed: true, failures };
  return { task: task.id, passed: false, failures, fault: 'agent' };
}
