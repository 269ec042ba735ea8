import { canonicalJson, type Json } from '../../base/json.ts';
import type { Request, Root } from '../../world/request.ts';
import type { ChainCall, Task } from '../model.ts';
import { leavesOf, valueAt } from '../walk/path.ts';
import { show } from './changes.ts';
import { refKey } from './meaning.ts';
import type { Bench } from './worlds.ts';

/** Positions of the calls of a chain that are not reads. */
export function writesOf(bench: Bench, chain: readonly ChainCall[]): number[] {
  const reads = new Set(
    bench.definition.tools.filter(({ effect }) => effect === 'read').map(({ name }) => name),
  );
  return chain.flatMap(({ tool }, i) => (reads.has(tool) ? [] : [i]));
}

/** Roots of a request, in order. */
export function rootsOf(request: Request): Root[] {
  return request.goals.flatMap((goal) =>
    goal.kind === 'tell' ? [goal.what.root] : Object.values(goal.args).map((ref) => ref.root),
  );
}

/**
 * What is wrong with where the arguments of a chain come from, and with how its calls answer the request, one sentence
 * each. Every argument is written in the request or stands in an earlier output; the writes are the request's effects, in
 * order, each argument meaning what the request says; every answer is shown by a call; no read is without use.
 * The world must stand at s0.
 */
export function checkProvenance(bench: Bench, task: Task): string[] {
  return [...checkArguments(bench, task), ...checkEffects(bench, task), ...checkUse(bench, task)];
}

function checkArguments(bench: Bench, { chain, request }: Task): string[] {
  const written = new Set(
    rootsOf(request)
      .flatMap((root) => ('id' in root ? [root.id] : Object.values(root.where)))
      .map(canonicalJson),
  );
  const failures: string[] = [];
  chain.forEach((call, i) => {
    const place = (name: string) => `argument ${name} of call ${i + 1} (${call.tool})`;
    for (const name of new Set([...Object.keys(call.args), ...Object.keys(call.provenance)])) {
      const value = call.args[name];
      const origin = call.provenance[name];
      if (value === undefined || !origin) failures.push(`${place(name)} comes from nowhere`);
      else if (origin.from === 'request') {
        if (!same(bench.objects.resolve(origin.ref), value))
          failures.push(`${place(name)} is not what the request says`);
        else if (!valuesOf(origin.ref.root).every((text) => written.has(text))) {
          failures.push(`${place(name)} is not written in the request: ${show(value)}`);
        }
      } else if (origin.call >= i || !same(shownBy(chain[origin.call], origin.path), value)) {
        failures.push(`${place(name)} is not shown by call ${origin.call + 1}`);
      }
    }
  });
  return failures;
}

function checkEffects(bench: Bench, { chain, request }: Task): string[] {
  const goals = request.goals.filter((goal) => goal.kind === 'do');
  const writes = writesOf(bench, chain);
  if (goals.length !== writes.length)
    return [`${goals.length} effects are asked for and ${writes.length} writes made`];
  return goals.flatMap((goal, k) => {
    const at = writes[k] as number;
    const call = chain[at] as ChainCall;
    if (goal.intent !== call.tool) return [`call ${at + 1} is ${call.tool}, asked for is ${goal.intent}`];
    const names = new Set([...Object.keys(goal.args), ...Object.keys(call.args)]);
    return [...names].flatMap((name) => {
      const asked = goal.args[name];
      const meant = bench.meanings.argument(chain, at, name);
      if (asked && meant && refKey(asked) === refKey(meant)) return [];
      return [`argument ${name} of call ${at + 1} (${call.tool}) does not mean what the request says`];
    });
  });
}

function checkUse(bench: Bench, { chain, request, assertions }: Task): string[] {
  const failures: string[] = [];
  const used = new Set(writesOf(bench, chain));
  for (const call of chain) {
    for (const origin of Object.values(call.provenance))
      if (origin.from === 'observation') used.add(origin.call);
  }
  const tells = request.goals.flatMap((goal) => (goal.kind === 'tell' ? [goal.what] : []));
  if (tells.map(refKey).join() !== assertions.out.map(({ what }) => refKey(what)).join()) {
    failures.push('the answers asserted are not those asked for');
  }
  for (const { what, value } of assertions.out) {
    if (!same(bench.objects.resolve(what), value)) failures.push(`${show(value)} is not the answer in s0`);
    const teller = chain.findIndex((_, i) => shows(bench, chain, i, refKey(what), value));
    if (teller < 0) failures.push(`no call shows the answer ${show(value)}`);
    else used.add(teller);
  }
  chain.forEach((call, i) => {
    if (!used.has(i)) failures.push(`call ${i + 1} (${call.tool}) contributes nothing`);
  });
  return failures;
}

/** Whether a call's output shows a value that has this meaning. */
export function shows(
  bench: Bench,
  chain: readonly ChainCall[],
  call: number,
  key: string,
  value: Json,
): boolean {
  const { observation } = chain[call] as ChainCall;
  if (!observation.ok) return false;
  return leavesOf(observation.value).some((leaf) => {
    if (!same(leaf.value, value)) return false;
    const meant = bench.meanings.output(chain, call, leaf.path);
    return meant !== null && refKey(meant) === key;
  });
}

function shownBy(call: ChainCall | undefined, path: string): Json | undefined {
  return call?.observation.ok ? valueAt(call.observation.value, path) : undefined;
}

function valuesOf(root: Root): string[] {
  return ('id' in root ? [root.id] : Object.values(root.where)).map(canonicalJson);
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  return a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b);
}
