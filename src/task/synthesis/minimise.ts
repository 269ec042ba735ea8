import { canonicalJson, type Json } from '../../base/json.ts';
import type { Ref } from '../../world/request.ts';
import type { ChainCall, Provenance } from '../model.ts';
import { refKey } from '../verify/meaning.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';
import { leavesOf } from '../walk/path.ts';

/** A value to be told: which call shows it, where, and what it means. */
export interface Told {
  call: number;
  path: string;
  value: Json;
  what: Ref;
}

/** A chain with the answer it leads to, where it leads to one. */
export interface Draft {
  chain: ChainCall[];
  told: Told | null;
}

/** Positions of reads whose output no later call uses. */
export function unusedReads(bench: Bench, chain: readonly ChainCall[]): number[] {
  const used = new Set([...writesOf(bench, chain), ...chain.flatMap(sourcesOf)]);
  return chain.flatMap((_, i) => (used.has(i) ? [] : [i]));
}

/**
 * Cuts a chain down to what its goals need: calls whose output neither reaches a write nor is told go, and so does a read
 * whose every use another read of the chain serves as well (the same meaning, shown earlier than it is used).
 */
export function minimise(bench: Bench, draft: Draft): Draft {
  let current = prune(bench, draft);
  for (let k = 0; k < current.chain.length; k++) {
    const rerouted = without(bench, current, k);
    if (!rerouted) continue;
    current = prune(bench, rerouted);
    k = -1;
  }
  return current;
}

/** Keeps the writes, the call that tells, and all that they draw on. */
function prune(bench: Bench, { chain, told }: Draft): Draft {
  const kept = new Set(writesOf(bench, chain));
  if (told) kept.add(told.call);
  for (let i = chain.length - 1; i >= 0; i--) {
    if (kept.has(i)) for (const source of sourcesOf(chain[i] as ChainCall)) kept.add(source);
  }
  if (kept.size === chain.length) return { chain, told };
  const order = [...kept].sort((a, b) => a - b);
  const position = new Map(order.map((old, now) => [old, now]));
  const moved = (call: number): number => position.get(call) as number;
  return {
    chain: order.map((i) =>
      mapSources(chain[i] as ChainCall, (_, origin) => ({ ...origin, call: moved(origin.call) })),
    ),
    told: told && { ...told, call: moved(told.call) },
  };
}

/** The draft with nothing drawing on call k; `null` where something must. */
function without(bench: Bench, { chain, told }: Draft, k: number): Draft | null {
  if (writesOf(bench, chain).includes(k)) return null;
  let possible = true;
  const elsewhere = (
    before: number,
    value: Json,
    meaning: Ref | null,
  ): { call: number; path: string } | null => {
    const found = meaning && findShown(bench, chain, before, k, value, refKey(meaning));
    possible &&= found !== null;
    return found;
  };
  const rerouted = chain.map((call, j) =>
    mapSources(call, (name, origin) => {
      if (origin.call !== k) return origin;
      const found = elsewhere(j, call.args[name] as Json, bench.meanings.argument(chain, j, name));
      return found ? { ...origin, ...found } : origin;
    }),
  );
  const shown = told?.call === k ? elsewhere(chain.length, told.value, told.what) : null;
  if (!possible) return null;
  return { chain: rerouted, told: told && shown ? { ...told, ...shown } : told };
}

/** Another call before `before` than k that shows the value with this meaning. */
function findShown(
  bench: Bench,
  chain: readonly ChainCall[],
  before: number,
  k: number,
  value: Json,
  key: string,
): { call: number; path: string } | null {
  const text = canonicalJson(value);
  for (let call = 0; call < before; call++) {
    const observation = chain[call]?.observation;
    if (call === k || !observation?.ok) continue;
    for (const leaf of leavesOf(observation.value)) {
      if (canonicalJson(leaf.value) !== text) continue;
      const meant = bench.meanings.output(chain, call, leaf.path);
      if (meant && refKey(meant) === key) return { call, path: leaf.path };
    }
  }
  return null;
}

function sourcesOf(call: ChainCall): number[] {
  return Object.values(call.provenance).flatMap((origin) =>
    origin.from === 'observation' ? [origin.call] : [],
  );
}

type Shown = Extract<Provenance, { from: 'observation' }>;

/** The call with each origin in an earlier output replaced. */
export function mapSources(call: ChainCall, change: (name: string, origin: Shown) => Provenance): ChainCall {
  const provenance = Object.fromEntries(
    Object.entries(call.provenance).map(([name, origin]): [string, Provenance] => [
      name,
      origin.from === 'observation' ? change(name, origin) : origin,
    ]),
  );
  return { ...call, provenance };
}
