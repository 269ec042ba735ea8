import { LabError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Action, Parsed, Phrase } from '../language.ts';
import { Reader, Unreadable } from './reader.ts';
import type { Argument, Signature } from './shape.ts';
import type { Vocabulary } from './vocabulary.ts';

/** How the actions of one world are said: `tool value* (.field value)* <end>` or `done value* <end>`. */
export interface ActionGrammar {
  vocabulary: Vocabulary;
  signatures: ReadonlyMap<string, Signature>;
  /** Most answers that `done` carries. */
  answers: number;
}

/**
 * Tokens of an action, the closing `<end>` included. Required arguments are said in the schema's order, optional
 * ones after them with their names.
 * @throws LabError on an unknown tool or argument, a missing one, a value outside the vocabulary, too many answers.
 */
export function encodeAction({ vocabulary, signatures, answers }: ActionGrammar, action: Action): number[] {
  const end = vocabulary.id('mark', '<end>');
  if (action.kind === 'done') {
    if (action.answers.length > answers) {
      throw new LabError(`${action.answers.length} answers, but the language has room for ${answers}`, {
        where: 'done',
        remedy: 'ask for fewer values in one request',
      });
    }
    return [vocabulary.id('mark', 'done'), ...action.answers.map((answer) => vocabulary.value(answer)), end];
  }
  const tokens = [vocabulary.id('tool', action.tool)];
  const { required, optional } = signatures.get(action.tool)!;
  checkNames(action, [...required, ...optional]);
  for (const argument of required) {
    const value = action.args[argument.name];
    if (value === undefined) throw misuse(action.tool, `the argument "${argument.name}" is missing`);
    tokens.push(...encodeArgument(vocabulary, argument, value, action.tool));
  }
  for (const argument of optional) {
    const value = action.args[argument.name];
    if (value === undefined) continue;
    tokens.push(vocabulary.id('field', argument.name));
    tokens.push(...encodeArgument(vocabulary, argument, value, action.tool));
  }
  return [...tokens, end];
}

function checkNames(action: Action & { kind: 'call' }, known: Argument[]): void {
  const stranger = Object.keys(action.args).find((name) => !known.some((argument) => argument.name === name));
  if (stranger !== undefined) throw misuse(action.tool, `there is no argument "${stranger}"`);
}

function misuse(where: string, what: string): LabError {
  return new LabError(what, { where, remedy: 'name the arguments as the tool’s input schema does' });
}

function encodeArgument(vocabulary: Vocabulary, argument: Argument, value: Json, tool: string): number[] {
  if (!argument.list) return [vocabulary.value(value)];
  if (!Array.isArray(value) || value.length > argument.most) {
    throw misuse(tool, `"${argument.name}" must be a list of at most ${argument.most} values`);
  }
  return [...value.map((item) => vocabulary.value(item)), vocabulary.id('mark', ']')];
}

/** Reads an action from tokens, with or without the closing `<end>`. Never throws. */
export function parseAction(grammar: ActionGrammar, tokens: readonly number[]): Parsed {
  const reader = new Reader(grammar.vocabulary, tokens);
  try {
    const action = readAction(grammar, reader);
    if (!reader.take('mark', '<end>') && !reader.done) reader.expected('the end');
    if (!reader.done) reader.expected('nothing after the end');
    return { ok: true, action };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, why: error.message };
    throw error;
  }
}

function readAction({ signatures, answers }: ActionGrammar, reader: Reader): Action {
  if (reader.take('mark', 'done')) return { kind: 'done', answers: readValues(reader, answers) };
  const tool = reader.take('tool') ?? reader.expected('a tool or "done"');
  const { required, optional } = signatures.get(tool)!;
  const args: JsonObject = {};
  for (const argument of required) args[argument.name] = readArgument(reader, argument);
  while (true) {
    const name = reader.take('field');
    if (name === undefined) break;
    const argument = optional.find((candidate) => candidate.name === name);
    if (!argument) throw new Unreadable(`"${tool}" has no optional argument "${name}"`);
    if (Object.hasOwn(args, name)) throw new Unreadable(`"${name}" is given twice`);
    args[name] = readArgument(reader, argument);
  }
  return { kind: 'call', tool, args };
}

function readArgument(reader: Reader, argument: Argument): Json {
  if (!argument.list) return (reader.takeValue() ?? reader.expected(`a value for "${argument.name}"`)).value;
  const items = readValues(reader, argument.most);
  if (!reader.take('mark', ']')) reader.expected(`"]" after the values of "${argument.name}"`);
  return items;
}

function readValues(reader: Reader, most: number): Json[] {
  const values: Json[] = [];
  while (values.length < most) {
    const sign = reader.takeValue();
    if (!sign) break;
    values.push(sign.value);
  }
  return values;
}

/** Tokens of the longest action, `<end>` included. */
export function longestAction({ signatures, answers }: ActionGrammar): number {
  const size = ({ list, most }: Argument) => (list ? most + 1 : 1);
  const sum = (sizes: number[]) => sizes.reduce((a, b) => a + b, 0);
  const calls = [...signatures.values()].map(
    ({ required, optional }) => sum(required.map(size)) + sum(optional.map((argument) => size(argument) + 1)),
  );
  return 2 + Math.max(answers, ...calls);
}

/** Every action as `encodeAction` says it, with any value in the place of any. */
export function actionPhrase({ vocabulary, signatures, answers }: ActionGrammar): Phrase {
  const values = [...vocabulary.signs.keys()].filter((id) => vocabulary.signs[id]!.kind === 'value');
  const one = (...of: number[]): Phrase => ({ kind: 'one', of });
  const seq = (...parts: Phrase[]): Phrase => ({ kind: 'seq', parts });
  const upTo = (most: number, part: Phrase): Phrase => ({ kind: 'repeat', part, least: 0, most });
  const said = ({ list, most }: Argument) =>
    list ? seq(upTo(most, one(...values)), one(vocabulary.id('mark', ']'))) : one(...values);
  const calls = [...signatures].map(([tool, { required, optional }]) =>
    seq(
      one(vocabulary.id('tool', tool)),
      ...required.map(said),
      ...optional.map((argument) => upTo(1, seq(one(vocabulary.id('field', argument.name)), said(argument)))),
    ),
  );
  const done = seq(one(vocabulary.id('mark', 'done')), upTo(answers, one(...values)));
  return seq({ kind: 'choice', parts: [done, ...calls] }, one(vocabulary.id('mark', '<end>')));
}
