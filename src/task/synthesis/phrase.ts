import { LabError } from '../../base/errors.ts';
import { canonicalJson, type Json } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { Lexicon } from '../../world/kit.ts';
import type { Goal, Ref, Request, Root } from '../../world/request.ts';

const OPENINGS = ['', '', 'Please ', 'Could you please ', 'I need you to '];
const QUESTIONS = [
  'Tell me {it}.',
  'Please look up {it}.',
  'I need {it}.',
  'Can you tell me {it}?',
  'Find out {it}.',
];
const TELLING = ['tell me {it}', 'let me know {it}', 'give me {it}'];
/** An address stands for whoever it reaches: one writes to the owner, not to the owner's address. */
const ADDRESS = /\baddress$/;
/** How often a root that was just named is called "it". */
const PRONOUN = 0.6;

/**
 * The request in plain English, from the words of the world: varied, without names of tools, and in no more order than
 * matters: `then` stands where the pair is in `ordered`. Equal streams give equal texts.
 * @param ordered pairs [earlier, later] of goals, by index, whose order matters.
 * @throws LabError where the lexicon has no phrase for an intent with these arguments.
 */
export function phrase(
  request: Request,
  lexicon: Lexicon,
  rng: Rng,
  ordered: readonly (readonly [number, number])[] = [],
): string {
  const [first] = request.goals;
  if (!first) return '';
  if (request.goals.length === 1 && first.kind === 'tell') {
    return rng.pick(QUESTIONS).replace('{it}', () => sayRef(first.what, lexicon, rng, null));
  }
  // A question that goes on for three clauses is none any more.
  const opening = rng.pick(
    request.goals.length > 2 ? OPENINGS.filter((text) => !text.startsWith('Could')) : OPENINGS,
  );
  const asks = opening.startsWith('Could');
  let text = '';
  let joint: boolean | null = null;
  request.goals.forEach((goal, i) => {
    const before = request.goals.slice(0, i);
    const clause = sayGoal(goal, lexicon, rng, pronounFor(goal, before.at(-1), lexicon, rng));
    if (i === 0) text = opening + clause;
    else if (ordered.some(([, later]) => later === i)) text += `, then ${clause}`;
    else {
      joint = asks || (joint === null ? rng.chance(0.5) : !joint);
      text += joint ? ` and ${clause}` : `. Also ${clause}`;
    }
  });
  return sentenceCase(text) + (asks ? '?' : '.');
}

/** The root that both goals are about, where calling it "it" can mean nothing else. */
function pronounFor(goal: Goal, before: Goal | undefined, lexicon: Lexicon, rng: Rng): string | null {
  if (!before || goal.kind !== 'do') return null;
  const here = rootKeys(goal);
  const there = rootKeys(before);
  const only = [...here][0];
  if (only === undefined || here.size !== 1 || there.size !== 1 || !there.has(only)) return null;
  return isThing(before, only, lexicon) && rng.chance(PRONOUN) ? only : null;
}

function sayGoal(goal: Goal, lexicon: Lexicon, rng: Rng, it: string | null): string {
  if (goal.kind === 'tell')
    return rng.pick(TELLING).replace('{it}', () => sayRef(goal.what, lexicon, rng, null));
  const names = Object.keys(goal.args);
  const fitting = (lexicon.intents[goal.intent] ?? []).filter((text) => {
    const slots = [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
    return slots.length === names.length && names.every((name) => slots.includes(name));
  });
  if (fitting.length === 0) {
    throw new LabError(`no phrase says "${goal.intent}" with ${names.join(', ') || 'no arguments'}`, {
      where: 'lexicon.intents',
      remedy: 'add a phrase with exactly these slots',
    });
  }
  let named = it;
  return rng.pick(fitting).replace(/\{(\w+)\}/g, (_, name: string) => {
    const ref = goal.args[name] as Ref;
    const text = sayRef(shorten(ref, lexicon), lexicon, rng, named);
    // Inside one clause the thing it is about is named once.
    const key = rootKey(ref.root);
    if (named === null && isThing(goal, key, lexicon)) named = key;
    return text;
  });
}

/** Leaves an address at the end of a path unsaid. */
function shorten(ref: Ref, lexicon: Lexicon): Ref {
  const last = ref.path.at(-1);
  const leaves = last !== undefined && ADDRESS.test(lexicon.fields[last] ?? '');
  return leaves ? { root: ref.root, path: ref.path.slice(0, -1) } : ref;
}

/** `the manager of T-12's owner`; with `it` the root that was named already. */
function sayRef(ref: Ref, lexicon: Lexicon, rng: Rng, it: string | null): string {
  const nouns = ref.path.map((field) => lexicon.fields[field] ?? field);
  const again = it === rootKey(ref.root);
  const [first, ...rest] = nouns;
  if (first === undefined) return again ? 'it' : sayRoot(ref.root, lexicon);
  let text: string;
  if (again) text = `its ${first}`;
  else if ('id' in ref.root && !first.includes(' of ') && rng.chance(0.5))
    text = `${sayRoot(ref.root, lexicon)}'s ${first}`;
  else text = `the ${first} of ${sayRoot(ref.root, lexicon)}`;
  for (const noun of rest) text = `the ${noun} of ${text}`;
  return text;
}

function sayRoot(root: Root, lexicon: Lexicon): string {
  if ('id' in root) return sayValue(root.id);
  const noun = lexicon.objects[root.the] ?? root.the;
  const conditions = Object.entries(root.where).map(
    ([field, value]) => `${lexicon.fields[field] ?? field} is ${sayValue(value)}`,
  );
  return conditions.length === 0 ? `the only ${noun}` : `the ${noun} whose ${conditions.join(' and whose ')}`;
}

function sayValue(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

function rootKey(root: Root): string {
  return canonicalJson(root as Json);
}

function refsOf(goal: Goal): Ref[] {
  return goal.kind === 'tell' ? [goal.what] : Object.values(goal.args);
}

/** Roots of a goal that name or describe objects; constants such as a priority fill arguments that are no objects. */
function rootKeys(goal: Goal): Set<string> {
  return new Set(refsOf(goal).map(({ root }) => rootKey(root)));
}

/** Whether a root is an object that a goal acts on directly, and no person. */
function isThing(goal: Goal, key: string, lexicon: Lexicon): boolean {
  if (goal.kind === 'tell') return false;
  return Object.entries(goal.args).some(
    ([name, { root, path }]) =>
      path.length === 0 &&
      rootKey(root) === key &&
      Object.hasOwn(lexicon.objects, name) &&
      lexicon.objects[name] !== 'person',
  );
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
