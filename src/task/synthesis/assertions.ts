import type { Assertions, ChainCall, TraceAssertion } from '../model.ts';
import { assertionsBetween, nameOf } from '../verify/changes.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';
import type { Reversed } from './goals.ts';
import { isSteady, type Pinned, pin } from './steady.ts';

/** A chain as it answers in the world without noise, and what can be asserted of it. */
export interface Asserted {
  chain: ChainCall[];
  assertions: Assertions;
}

/**
 * Carries a chain out from s0 and writes down V_state (s0 against s_L), V_trace (what each write changed) and V_out.
 * Every reference of the request must mean the same when it is used as in s0, and every write must leave a mark that no
 * later one covers: else the request would not say what is wanted. @returns a sentence where it does not.
 */
export function assertChain(bench: Bench, { request, chain, told }: Reversed): Asserted | string {
  const { world, start } = bench;
  world.restore(start);
  const effects = request.goals.flatMap((goal) =>
    goal.kind === 'do' ? [pin(bench.objects, Object.values(goal.args))] : [],
  );
  const answers = told ? pin(bench.objects, [told.what]) : [];
  const steady = (pinned: readonly Pinned[]): boolean => pinned.every((one) => isSteady(bench.objects, one));
  const writes = writesOf(bench, chain);
  const replayed: ChainCall[] = [];
  const trace: TraceAssertion[] = [];
  for (const [i, call] of chain.entries()) {
    const effect = effects[writes.indexOf(i)];
    if (effect && !steady(effect)) return `by then what ${call.tool} is to act on means something else`;
    const before = world.snapshot();
    const observation = world.call(call.tool, call.args);
    if (!observation.ok) return `without the other calls ${call.tool} is refused`;
    replayed.push({ ...call, observation });
    if (effect) trace.push({ call: i, changes: assertionsBetween(world, before, world.snapshot()) });
  }
  if (!steady(answers)) return 'the answer changes on the way';
  if (!trace.every((_, k) => leavesMark(trace, k))) return 'a write is undone by a later one';
  const state = assertionsBetween(world, start, world.snapshot());
  const lasting = new Set(state.map(nameOf));
  if (!trace.every(({ changes }) => changes.every((change) => lasting.has(nameOf(change))))) {
    return 'a write is undone by a later one';
  }
  world.restore(start);
  const out = told ? [{ what: told.what, value: told.value }] : [];
  return { chain: replayed, assertions: { state, trace, out } };
}

/** Whether a write changed something that no later write of the chain changes again. */
function leavesMark(trace: readonly TraceAssertion[], k: number): boolean {
  const cells = (assertion: TraceAssertion): string[] =>
    assertion.changes.flatMap((change) =>
      Object.keys(change.fields ?? { '': null }).map((name) => `${nameOf(change)} ${name}`),
    );
  const covered = new Set(trace.slice(k + 1).flatMap(cells));
  return cells(trace[k] as TraceAssertion).some((cell) => !covered.has(cell));
}
