import { canonicalJson, type Json } from '../../base/json.ts';
import type { ChainCall, StateAssertion } from '../model.ts';
import { assertionsBetween, nameOf } from '../verify/changes.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';

/**
 * Pairs [i, j], i < j, of a chain's writes (counted from 0) whose order matters: with the j-th done before the i-th, a
 * write is refused, or some object goes through other states. Tried out in the world, which is left at s0.
 */
export function orderedWrites(bench: Bench, chain: readonly ChainCall[]): [number, number][] {
  const writes = writesOf(bench, chain).map((at) => chain[at] as ChainCall);
  if (writes.length < 2) return [];
  const reference = historiesOf(bench, writes);
  const ordered: [number, number][] = [];
  for (let j = 1; j < writes.length; j++) {
    for (let i = 0; i < j; i++) {
      const moved = [
        ...writes.slice(0, i),
        writes[j] as ChainCall,
        ...writes.slice(i, j),
        ...writes.slice(j + 1),
      ];
      if (historiesOf(bench, moved) !== reference) ordered.push([i, j]);
    }
  }
  bench.world.restore(bench.start);
  return ordered;
}

/** What each object goes through, as text; `null` where a write is refused. */
function historiesOf(bench: Bench, writes: readonly ChainCall[]): string | null {
  const { world, start } = bench;
  world.restore(start);
  const histories: Record<string, StateAssertion[]> = {};
  for (const { tool, args } of writes) {
    const before = world.snapshot();
    if (!world.call(tool, args).ok) return null;
    for (const change of assertionsBetween(world, before, world.snapshot())) {
      const name = nameOf(change);
      histories[name] = [...(histories[name] ?? []), change];
    }
  }
  return canonicalJson(histories as unknown as Json);
}
