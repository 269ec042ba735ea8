import type { Json, JsonObject } from '../../base/json.ts';
import { canonicalJson } from '../../base/json.ts';
import type { LogEntry, Observation, Snapshot, World } from '../kit.ts';
import { CLOCK } from './state.ts';

/** A call that somebody wants to make. */
export interface Move {
  tool: string;
  args: JsonObject;
}

/** How a script came to its end: what it tells, or why it gave up. */
export interface Ending {
  answers: Json[];
  gaveUp: string | null;
}

/** Somebody acting in a world: asks for calls, hears what came back, ends. Works on observations alone. */
export type Script<R = Ending> = Generator<Move, R, Observation>;

/** What a script did. */
export interface Performance {
  calls: LogEntry[];
  ending: Ending;
}

/**
 * Runs a script in a world, to its end or for `most` calls (which counts as giving up).
 * @returns the calls made, with the world's own answers.
 */
export function perform(world: World, script: Script, most = 64): Performance {
  const before = world.log.length;
  let step = script.next();
  for (let calls = 0; !step.done; calls++) {
    if (calls === most) {
      return {
        calls: world.log.slice(before),
        ending: { answers: [], gaveUp: `not done after ${most} calls` },
      };
    }
    step = script.next(world.call(step.value.tool, step.value.args));
  }
  return { calls: world.log.slice(before), ending: step.value };
}

/** What came of a performance, as text to compare: objects that differ from `before` (time apart), and answers. */
export function outcomeOf(world: World, before: Snapshot, ending: Ending): string {
  const changes = world.diff(before, world.snapshot()).filter(({ table }) => table !== CLOCK.table);
  const effects = changes.map(({ table, id, after }): Json => [table, id, after]);
  return canonicalJson({ effects, answers: ending.answers });
}
