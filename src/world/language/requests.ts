import { LabError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { Goal, Ref, Request, Root } from '../request.ts';
import { Reader } from './reader.ts';
import type { Signature } from './shape.ts';
import type { Vocabulary } from './vocabulary.ts';

/**
 * How requests are said: `<bos> goal* <turn>`; a goal is `do:intent ref* (with .argument ref)*` or `tell ref`; a ref is
 * a root and the fields of its path; a root is a value, or `the:object (.field value)* ;`.
 */
export interface RequestGrammar {
  vocabulary: Vocabulary;
  /** Arguments of each intent, as those of the tool of that name. */
  intents: ReadonlyMap<string, Signature>;
}

/** Tokens of a request. @throws LabError on an intent, argument, field or value outside the language. */
export function encodeRequest({ vocabulary, intents }: RequestGrammar, request: Request): number[] {
  const goals = request.goals.flatMap((goal) => encodeGoal(vocabulary, intents, goal));
  return [vocabulary.id('mark', '<bos>'), ...goals, vocabulary.id('mark', '<turn>')];
}

function encodeGoal(vocabulary: Vocabulary, intents: RequestGrammar['intents'], goal: Goal): number[] {
  if (goal.kind === 'tell') return [vocabulary.id('mark', 'tell'), ...encodeRef(vocabulary, goal.what)];
  const tokens = [vocabulary.id('intent', goal.intent)];
  const { required, optional } = intents.get(goal.intent)!;
  const fail = (what: string) =>
    new LabError(what, { where: goal.intent, remedy: 'name the arguments as the intent’s tool does' });
  const known = [...required, ...optional].map(({ name }) => name);
  const stranger = Object.keys(goal.args).find((name) => !known.includes(name));
  if (stranger !== undefined) throw fail(`there is no argument "${stranger}"`);
  for (const { name } of required) {
    const ref = goal.args[name];
    if (!ref) throw fail(`the argument "${name}" is missing`);
    tokens.push(...encodeRef(vocabulary, ref));
  }
  for (const { name } of optional) {
    const ref = goal.args[name];
    if (!ref) continue;
    tokens.push(vocabulary.id('mark', 'with'), vocabulary.id('field', name), ...encodeRef(vocabulary, ref));
  }
  return tokens;
}

function encodeRef(vocabulary: Vocabulary, { root, path }: Ref): number[] {
  return [...encodeRoot(vocabulary, root), ...path.map((field) => vocabulary.id('field', field))];
}

function encodeRoot(vocabulary: Vocabulary, root: Root): number[] {
  if ('id' in root) return [vocabulary.value(root.id)];
  // Conditions hold together, so their order says nothing: one order for all.
  const conditions = Object.entries(root.where)
    .map(([field, value]): [number, number] => [vocabulary.id('field', field), vocabulary.value(value)])
    .sort(([a], [b]) => a - b);
  return [vocabulary.id('object', root.the), ...conditions.flat(), vocabulary.id('mark', ';')];
}

/** Reads a request from its tokens. @throws Unreadable where they are none. */
export function decodeRequest({ vocabulary, intents }: RequestGrammar, tokens: readonly number[]): Request {
  const reader = new Reader(vocabulary, tokens);
  if (!reader.take('mark', '<bos>')) reader.expected('"<bos>"');
  const goals: Goal[] = [];
  while (!reader.take('mark', '<turn>')) goals.push(readGoal(intents, reader));
  if (!reader.done) reader.expected('nothing after the request');
  return { goals };
}

function readGoal(intents: RequestGrammar['intents'], reader: Reader): Goal {
  if (reader.take('mark', 'tell')) return { kind: 'tell', what: readRef(reader) };
  const intent = reader.take('intent') ?? reader.expected('an intent, "tell" or "<turn>"');
  const args: Record<string, Ref> = {};
  const { required, optional } = intents.get(intent)!;
  for (const { name } of required) args[name] = readRef(reader);
  while (reader.take('mark', 'with')) {
    const next = optional.find(({ name }) => !Object.hasOwn(args, name) && reader.take('field', name));
    args[(next ?? reader.expected('the name of an optional argument')).name] = readRef(reader);
  }
  return { kind: 'do', intent, args };
}

function readRef(reader: Reader): Ref {
  const root = readRoot(reader);
  const path: string[] = [];
  for (let field = reader.take('field'); field !== undefined; field = reader.take('field')) path.push(field);
  return { root, path };
}

function readRoot(reader: Reader): Root {
  const known = reader.takeValue();
  if (known) return { id: known.value };
  const the = reader.take('object') ?? reader.expected('a value or a description');
  const where: Record<string, Json> = {};
  while (!reader.take('mark', ';')) {
    const field = reader.take('field') ?? reader.expected('a condition or ";"');
    where[field] = (reader.takeValue() ?? reader.expected(`a value for "${field}"`)).value;
  }
  return { the, where };
}
