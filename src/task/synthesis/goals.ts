import type { Json } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { Goal, Ref, Request } from '../../world/request.ts';
import type { ChainCall, Provenance } from '../model.ts';
import { refKey } from '../verify/meaning.ts';
import { writesOf } from '../verify/provenance.ts';
import type { Bench } from '../verify/worlds.ts';
import { leavesOf } from '../walk/path.ts';
import { type Draft, mapSources, minimise, type Told, unusedReads } from './minimise.ts';

/** A chain as a request: what it brings about and tells, each in terms of what the reader of the request can see. */
export interface Reversed {
  request: Request;
  chain: ChainCall[];
  told: Told | null;
}

/**
 * Turns a walked chain into a request (ToolSpace, reverse synthesis): every write becomes an effect to be brought about,
 * the last read that nothing uses a value to be told, and every argument what it means, by composing provenance.
 * The world must stand at s0. @param descriptions share of the objects found in a list that the request describes
 * instead of naming. @returns a sentence where the chain has no goal, or an argument has no meaning in s0.
 */
export function reverse(
  bench: Bench,
  walked: readonly ChainCall[],
  rng: Rng,
  descriptions: number,
): Reversed | string {
  const chain = nameObjects(bench, walked, rng, descriptions);
  const told = chooseTold(bench, chain, rng);
  const draft = minimise(bench, { chain, told });
  return goalsOf(bench, draft);
}

/**
 * Values that are a root themselves need no reading: they are written in the request. An object found in a list is named by
 * its identifier, unless it is to be described.
 */
function nameObjects(
  bench: Bench,
  walked: readonly ChainCall[],
  rng: Rng,
  descriptions: number,
): ChainCall[] {
  const described = new Map<string, boolean>();
  const chain: ChainCall[] = [];
  for (const call of walked) {
    const at = chain.push(call) - 1;
    chain[at] = mapSources(call, (name, origin) => {
      const meaning = bench.meanings.argument(chain, at, name);
      if (!meaning) return nameable(bench, call.args[name] ?? null) ?? origin;
      if (meaning.path.length > 0) return origin;
      if ('id' in meaning.root) return { from: 'request', ref: meaning };
      const key = refKey(meaning);
      const describe = described.get(key) ?? rng.chance(descriptions);
      described.set(key, describe);
      return describe ? origin : (nameable(bench, call.args[name] ?? null) ?? origin);
    });
  }
  return chain;
}

/** The value as written in the request, where it is the identifier of an object. */
function nameable(bench: Bench, value: Json): Provenance | null {
  return bench.objects.find(value)?.id === value
    ? { from: 'request', ref: { root: { id: value }, path: [] } }
    : null;
}

/** Draws what is told: a value that the last unused read shows and the request does not give away. */
function chooseTold(bench: Bench, chain: readonly ChainCall[], rng: Rng): Told | null {
  const call = unusedReads(bench, chain).at(-1);
  const observation = call === undefined ? undefined : chain[call]?.observation;
  if (call === undefined || !observation?.ok) return null;
  const open = leavesOf(observation.value).flatMap(({ path, value }): Told[] => {
    const what = bench.meanings.output(chain, call, path);
    return what && isQuestion(what) ? [{ call, path, value, what }] : [];
  });
  return open.length > 0 ? rng.pick(open) : null;
}

/** Whether a reference asks for something that it does not say itself. */
function isQuestion({ root, path }: Ref): boolean {
  if ('id' in root) return path.length > 0;
  const first = path[0];
  return first === undefined || !Object.hasOwn(root.where, first);
}

function goalsOf(bench: Bench, { chain, told }: Draft): Reversed | string {
  const goals: Goal[] = [];
  for (const at of writesOf(bench, chain)) {
    const call = chain[at] as ChainCall;
    const args: Record<string, Ref> = {};
    for (const name of Object.keys(call.args)) {
      const meaning = bench.meanings.argument(chain, at, name);
      if (!meaning) return `the ${name} of ${call.tool} has no meaning in s0`;
      args[name] = meaning;
    }
    goals.push({ kind: 'do', intent: call.tool, args });
  }
  if (told) goals.push({ kind: 'tell', what: told.what });
  return goals.length > 0
    ? { request: { goals }, chain, told }
    : 'the chain brings nothing about and tells nothing';
}
