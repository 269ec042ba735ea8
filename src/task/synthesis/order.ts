import type { ChainCall } from '../model.ts';
import { compareHistories, play } from '../verify/histories.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';

/**
 * Pairs [i, j], i < j, of a chain's writes (counted from 0) whose order matters: with the j-th done before the i-th, a
 * write is refused, or some object goes through other changes. Tried out in the world, which is left at s0.
 */
export function orderedWrites(bench: Bench, chain: readonly ChainCall[]): [number, number][] {
  const writes = writesOf(bench, chain).map((at) => chain[at] as ChainCall);
  if (writes.length < 2) return [];
  const asked = play(bench, writes).steps;
  const ordered: [number, number][] = [];
  for (let j = 1; j < writes.length; j++) {
    for (let i = 0; i < j; i++) {
      const moved = [...writes];
      moved.splice(i, 0, ...moved.splice(j, 1));
      const { steps, refused } = play(bench, moved);
      if (refused > 0 || compareHistories(bench, asked, steps).failures.length > 0) ordered.push([i, j]);
    }
  }
  return ordered;
}
