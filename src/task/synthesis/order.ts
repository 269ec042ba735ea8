import type { Request } from '../../world/request.ts';
import type { ChainCall } from '../model.ts';
import { compareHistories, play } from '../verify/histories.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';
import { isSteady, type Pinned, pin } from './steady.ts';

/**
 * Pairs [i, j], i < j, of a chain's writes (counted from 0, as the effects of its request) whose order matters: with the
 * j-th done before the i-th, a write is refused, some object goes through other changes, or what the request says of the
 * i-th means something else. Tried out in the world, which must stand at s0 and is left there.
 */
export function orderedWrites(
  bench: Bench,
  chain: readonly ChainCall[],
  request: Request,
): [number, number][] {
  const writes = writesOf(bench, chain).map((at) => chain[at] as ChainCall);
  if (writes.length < 2) return [];
  const meanings = request.goals.flatMap((goal) =>
    goal.kind === 'do' ? [pin(bench.objects, Object.values(goal.args))] : [],
  );
  const asked = play(bench, writes).steps;
  const ordered: [number, number][] = [];
  for (let j = 1; j < writes.length; j++) {
    for (let i = 0; i < j; i++) {
      const moved = [...writes];
      moved.splice(i, 0, ...moved.splice(j, 1));
      const { steps, refused } = play(bench, moved);
      const differs = refused > 0 || compareHistories(bench, asked, steps).failures.length > 0;
      if (differs || unsettles(bench, writes[j] as ChainCall, meanings[i] ?? [])) ordered.push([i, j]);
    }
  }
  return ordered;
}

/** Whether a write, done in s0, changes what references mean. */
function unsettles(
  { world, start, objects }: Bench,
  { tool, args }: ChainCall,
  pinned: readonly Pinned[],
): boolean {
  world.call(tool, args);
  const unsettled = pinned.some((one) => !isSteady(objects, one));
  world.restore(start);
  return unsettled;
}
