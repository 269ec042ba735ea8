import { canonicalJson, type Json } from '../../base/json.ts';
import type { Observation } from '../../world/kit.ts';
import type { ChainCall, Task, Verdict } from '../model.ts';
import { isEnvironmental } from '../walk/walk.ts';
import { assertionsBetween, compareChanges } from './changes.ts';
import { checkProvenance, writesOf } from './provenance.ts';
import { type Bench, openBench, worldDefinition } from './worlds.ts';

/**
 * The gate for chains (ToolSpace, replay verification). From s0 every call must be accepted and answer as recorded,
 * every argument must come from the request or an earlier output and mean what the request says, and V_state, V_trace
 * and V_out must hold. No call may be missing, superfluous or out of its place.
 * @throws LabError where the task's world is not known.
 */
export function replay(task: Task): Verdict {
  return replayOn(openBench(worldDefinition(task.world), task.worldSeed), task);
}

/** `replay` in a world that is open and stands at s0. */
export function replayOn(bench: Bench, task: Task): Verdict {
  const unsound = checkProvenance(bench, task);
  if (unsound.length > 0) return { task: task.id, passed: false, failures: unsound, fault: 'agent' };
  const { failures, environment } = execute(bench, task);
  if (failures.length === 0) return { task: task.id, passed: true, failures };
  return { task: task.id, passed: false, failures, fault: environment ? 'environment' : 'agent' };
}

function execute(bench: Bench, task: Task): { failures: string[]; environment: boolean } {
  const { world, start } = bench;
  const { chain, assertions } = task;
  const trace = new Map(assertions.trace.map((assertion) => [assertion.call, assertion.changes]));
  const writes = writesOf(bench, chain);
  const failures: string[] = [];
  if (writes.join() !== assertions.trace.map(({ call }) => call).join()) {
    failures.push('the writes do not stand where the trace has them');
  }
  for (const [i, call] of chain.entries()) {
    const before = world.snapshot();
    const observation = attempt(() => world.call(call.tool, call.args));
    if (typeof observation === 'string') return { failures: [...failures, observation], environment: true };
    if (!observation.ok) {
      const { code, message } = observation.error;
      const failure = `call ${i + 1} (${call.tool}) was refused: ${message}`;
      return { failures: [...failures, failure], environment: isEnvironmental(code) };
    }
    if (!sameObservation(observation, call))
      failures.push(`call ${i + 1} (${call.tool}) answers something else now`);
    const changes = assertionsBetween(world, before, world.snapshot());
    for (const failure of compareChanges(trace.get(i) ?? [], changes))
      failures.push(`after call ${i + 1}: ${failure}`);
  }
  const end = assertionsBetween(world, start, world.snapshot());
  failures.push(...compareChanges(assertions.state, end).map((failure) => `at the end: ${failure}`));
  return { failures, environment: false };
}

/** Runs a call; a world that throws is broken, and says so in the sentence returned. */
export function attempt(call: () => Observation): Observation | string {
  try {
    return call();
  } catch (error) {
    return `the world broke: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function sameObservation(now: Observation, recorded: ChainCall): boolean {
  return canonicalJson(now as unknown as Json) === canonicalJson(recorded.observation as unknown as Json);
}
