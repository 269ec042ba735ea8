import type { Json, JsonObject } from '../../base/json.ts';
import { canonicalJson, isObject } from '../../base/json.ts';
import type { Ending, Move, Script } from '../kit/script.ts';
import type { Observation } from '../kit.ts';
import type { Goal, Ref, Request, Root } from '../request.ts';
import { isDue } from './due.ts';
import { REMIND_DUE } from './lexicon.ts';
import { OPENING } from './names.ts';

/** How often a call is made again when the environment fails it. */
const PATIENCE = 4;

/** Why the expert cannot go on. Caught where the script ends. */
class Stuck extends Error {}

/**
 * The scripted expert: fulfils a request goal by goal, reading what it does not know yet with the fewest calls it can,
 * and trying again where the environment failed. It sees nothing but observations.
 */
export function* expert(request: Request): Script {
  const facts: Facts = { objects: new Map(), descriptions: new Map() };
  const answers: Json[] = [];
  try {
    // A description means what fits when the request is made, whatever the request itself changes.
    for (const { root } of refsOf(request)) yield* rootValue(facts, root);
    for (const goal of request.goals) {
      if (goal.kind === 'tell') answers.push(yield* told(facts, goal.what));
      else if (goal.intent === REMIND_DUE) yield* remindDue(facts);
      else yield* act(facts, goal);
    }
    return { answers, gaveUp: null } satisfies Ending;
  } catch (error) {
    if (error instanceof Stuck) return { answers, gaveUp: error.message } satisfies Ending;
    throw error;
  }
}

interface Facts {
  /** What is known of each object, by id (of a person also by e-mail address). */
  objects: Map<string, JsonObject>;
  /** What each description was found to mean. */
  descriptions: Map<string, Json>;
}

function refsOf(request: Request): Ref[] {
  return request.goals.flatMap((goal) => (goal.kind === 'tell' ? [goal.what] : Object.values(goal.args)));
}

function* act(facts: Facts, goal: Goal & { kind: 'do' }): Script<void> {
  const args: JsonObject = {};
  for (const [name, ref] of Object.entries(goal.args)) args[name] = yield* told(facts, ref);
  learn(facts, yield* ask({ tool: goal.intent, args }));
}

/** The survey's running task, as a standing order. */
function* remindDue(facts: Facts): Script<void> {
  const found = yield* ask({ tool: 'list_tickets', args: { status: 'open', priority: 'P1' } });
  for (const row of rowsOf(found, 'tickets')) {
    if (!isDue(row, OPENING)) continue;
    const ticket = row.id as string;
    const to = yield* told(facts, { root: { id: ticket }, path: ['owner', 'email'] });
    yield* ask({ tool: 'send_mail', args: { to, ticket } });
    yield* ask({ tool: 'mark_reminded', args: { ticket } });
  }
}

/** Makes a call; again where the environment failed it. */
function* ask(move: Move): Script<JsonObject> {
  let observation: Observation = yield move;
  for (let again = 1; again < PATIENCE && isTransient(observation); again++) observation = yield move;
  if (!observation.ok) throw new Stuck(observation.error.message);
  return observation.value as JsonObject;
}

/** True where the environment failed, not the caller: the same call may succeed the next time. */
export function isTransient(observation: Observation): boolean {
  return !observation.ok && (observation.error.code === 'timeout' || observation.error.code === 'rate_limit');
}

function learn(facts: Facts, value: JsonObject): void {
  const merge = (key: Json | undefined) => {
    if (typeof key === 'string') facts.objects.set(key, { ...facts.objects.get(key), ...value });
  };
  merge(value.id);
  merge(value.email);
}

function rowsOf(value: JsonObject, name: string): JsonObject[] {
  const rows = value[name];
  return Array.isArray(rows) ? rows.filter(isObject) : [];
}

function* told(facts: Facts, { root, path }: Ref): Script<Json> {
  let value = yield* rootValue(facts, root);
  for (const field of path) value = yield* fieldOf(facts, value, field);
  if (isObject(value)) throw new Stuck('a whole object cannot be told');
  return value;
}

/** A field of what an id names (or of a mail, which is seen whole), read where it is not known yet. */
function* fieldOf(facts: Facts, holder: Json, field: string): Script<Json> {
  if (isObject(holder)) {
    if (field in holder) return holder[field] as Json;
    throw new Stuck(`a mail has no ${field}`);
  }
  if (typeof holder !== 'string') throw new Stuck(`nothing has no ${field}`);
  if (facts.objects.get(holder)?.[field] === undefined) learn(facts, yield* ask(lookUp(holder)));
  const value = facts.objects.get(holder)?.[field];
  if (value === undefined) throw new Stuck(`${holder} has no ${field}`);
  return value;
}

/** The call that shows what an identifier names. */
function lookUp(id: string): Move {
  if (id.startsWith('T-')) return { tool: 'get_ticket', args: { ticket: id } };
  if (id.includes('@')) return { tool: 'find_person', args: { email: id } };
  return { tool: 'get_person', args: { person: id } };
}

function* rootValue(facts: Facts, root: Root): Script<Json> {
  if ('id' in root) return root.id;
  const key = canonicalJson({ the: root.the, where: root.where });
  const known = facts.descriptions.get(key);
  if (known !== undefined) return known;
  const candidates = yield* candidatesOf(facts, root.the, root.where);
  const fitting: Json[] = [];
  for (const candidate of candidates) {
    if (yield* fits(facts, candidate, root.where)) fitting.push(candidate);
  }
  const [only] = fitting;
  if (only === undefined || fitting.length > 1) {
    throw new Stuck(`${fitting.length === 0 ? 'no' : 'more than one'} ${root.the} fits the description`);
  }
  facts.descriptions.set(key, only);
  return only;
}

function* fits(facts: Facts, candidate: Json, where: Record<string, Json>): Script<boolean> {
  for (const [field, value] of Object.entries(where)) {
    if ((yield* fieldOf(facts, candidate, field)) !== value) return false;
  }
  return true;
}

/** Objects of a type that may fit: narrowed as far as the tools can. */
function* candidatesOf(facts: Facts, type: string, where: Record<string, Json>): Script<Json[]> {
  if (type === 'mail') {
    const { ticket } = where;
    return rowsOf(yield* ask({ tool: 'list_outbox', args: ticket === undefined ? {} : { ticket } }), 'mails');
  }
  if (type === 'person') {
    if (typeof where.id === 'string') return [where.id];
    return typeof where.email === 'string'
      ? [yield* fieldOf(facts, where.email, 'id')]
      : yield* people(facts);
  }
  const filter: JsonObject = {};
  for (const name of ['status', 'priority']) if (where[name] !== undefined) filter[name] = where[name];
  return yield* tickets(facts, filter);
}

function* tickets(facts: Facts, filter: JsonObject): Script<string[]> {
  const rows = rowsOf(yield* ask({ tool: 'list_tickets', args: filter }), 'tickets');
  for (const row of rows) learn(facts, row);
  return rows.map((row) => row.id as string);
}

/** Everybody who can be found: owners of tickets and the managers above them. */
function* people(facts: Facts): Script<string[]> {
  const found = new Set<string>();
  for (const ticket of yield* tickets(facts, {})) {
    let person: Json = yield* fieldOf(facts, ticket, 'owner');
    while (typeof person === 'string' && !found.has(person)) {
      found.add(person);
      person = yield* fieldOf(facts, person, 'manager');
    }
  }
  return [...found];
}
