import { LabError } from '../../base/errors.ts';
import { hashHex } from '../../base/hash.ts';
import { Rng } from '../../base/rng.ts';
import type { Task } from '../model.ts';

/** Name of a set of tasks: depends on which tasks are in it, not on their order or where they came from. */
export function taskSetHash(tasks: readonly Task[]): string {
  return hashHex([...new Set(tasks.map(({ id }) => id))].sort().join('\n'));
}

/** The tasks with every content once, the first of each. */
export function dedupe(tasks: readonly Task[]): Task[] {
  const first = new Map<string, Task>();
  for (const task of tasks) if (!first.has(task.id)) first.set(task.id, task);
  return [...first.values()];
}

/** How tasks are split: how many to train on and to hold out at most (tasks), and the seed of the draw. */
export interface SplitOptions {
  tasks: number;
  heldOut: number;
  seed: number | string;
}

/**
 * Splits tasks into training and held-out ones that share neither a task (by content) nor a world (by seed). Whole worlds
 * are held out, drawn at random, until they hold `heldOut` tasks; where there are fewer tasks than asked for, both sides
 * shrink in proportion.
 * @throws LabError on sizes that are no whole numbers ≥ 0, or where one world holds all the tasks of both sides.
 */
export function splitTasks(
  tasks: readonly Task[],
  options: SplitOptions,
): { train: Task[]; heldOut: Task[] } {
  for (const name of ['tasks', 'heldOut'] as const) {
    if (!Number.isInteger(options[name]) || options[name] < 0) {
      throw new LabError(`${options[name]} is no number of tasks`, {
        where: `split, ${name}`,
        remedy: 'give a whole number ≥ 0',
      });
    }
  }
  const distinct = dedupe(tasks);
  const wanted = options.tasks + options.heldOut;
  const share = wanted === 0 ? 0 : Math.min(1, distinct.length / wanted);
  const most = { train: Math.round(options.tasks * share), heldOut: Math.round(options.heldOut * share) };
  const rng = new Rng(options.seed).fork('split');
  const worlds = rng.shuffle([...new Set(distinct.map(worldOf))]);
  if (worlds.length === 1 && most.train > 0 && most.heldOut > 0) {
    throw new LabError('all tasks are of one world', {
      where: 'split',
      remedy: 'make tasks in more worlds, so that whole worlds can be held out',
    });
  }
  const byWorld = new Map<string, Task[]>(worlds.map((world) => [world, []]));
  for (const task of distinct) byWorld.get(worldOf(task))?.push(task);
  const heldOut: Task[] = [];
  let next = 0;
  while (heldOut.length < most.heldOut && next < worlds.length)
    heldOut.push(...(byWorld.get(worlds[next++] as string) ?? []));
  const train = worlds.slice(next).flatMap((world) => byWorld.get(world) ?? []);
  return { train: rng.shuffle(train).slice(0, most.train), heldOut: heldOut.slice(0, most.heldOut) };
}

function worldOf(task: Task): string {
  return `${task.world} ${task.worldSeed}`;
}
