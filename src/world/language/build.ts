import { LabError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { isObject } from '../../base/json.ts';
import type { ErrorCode, Observation, WorldTool } from '../kit.ts';
import type { Language } from '../language.ts';
import type { Request } from '../request.ts';
import { actionPhrase, encodeAction, longestAction, parseAction } from './actions.ts';
import { Unreadable } from './reader.ts';
import { decodeRequest, encodeRequest } from './requests.ts';
import { fieldNames, type Shape, type Signature, shapeOf, signatureOf, spelledValues } from './shape.ts';
import { type Mark, type Sign, Vocabulary } from './vocabulary.ts';

/** What a language is made from. */
export interface LanguageParts {
  tools: readonly WorldTool[];
  /** Types of objects that a description may name: `ticket` for "the ticket that …". */
  objects: readonly string[];
  /** Every value that can occur beside those the schemas spell out: identifiers, numbers, words. */
  values: Iterable<Json>;
  /** Which of the values are mere names, by pool; see `Language.names`. */
  names?: readonly (readonly Json[])[];
  /** Intents beyond the write tools: jobs without arguments, said in one token. */
  standing?: readonly string[];
  /** Most answers that an episode may end with; 6 unless said. */
  answers?: number;
}

/** A language that can also read requests back. */
export interface TwoWayLanguage extends Language {
  /** The request that has these tokens. @throws LabError where they are no request. */
  decodeRequest(tokens: readonly number[]): Request;
}

const MARKS: readonly Mark[] = ['<bos>', '<turn>', '<end>', 'done', 'tell', ';', ']'];

const ERRORS: readonly ErrorCode[] = [
  ...(['unknown_tool', 'invalid_argument', 'not_found', 'conflict', 'forbidden'] as const),
  ...(['timeout', 'rate_limit'] as const),
];

/**
 * The closed-vocabulary language of a world, from its tools' schemas and its pools of values. One token a tool, an
 * intent, a field, an error code and a value. An observation is its values in the schema's order, lists closed by
 * `]`, then `<turn>`; of an error only the code is said (message and argument are dropped). Actions and requests
 * lose nothing.
 * @throws LabError on schemas that a fixed order cannot carry, or names that would be written alike.
 */
export function languageFor(parts: LanguageParts): TwoWayLanguage {
  const { tools, objects, standing = [], answers = 6 } = parts;
  const signatures = new Map(tools.map((tool): [string, Signature] => [tool.name, signatureOf(tool)]));
  const shapes = new Map(
    tools.map((tool): [string, Shape] => [
      tool.name,
      shapeOf(tool.outputSchema, `${tool.name}.outputSchema`),
    ]),
  );
  const intents = new Map<string, Signature>();
  for (const tool of tools) if (tool.effect !== 'read') intents.set(tool.name, signatures.get(tool.name)!);
  for (const name of standing) intents.set(name, { required: [], optional: [] });
  const vocabulary = new Vocabulary(signs(parts, objects, [...intents.keys()], intents));
  const actions = { vocabulary, signatures, answers };
  const requests = { vocabulary, intents };
  const turn = vocabulary.id('mark', '<turn>');
  return {
    vocabulary: vocabulary.words,
    end: vocabulary.id('mark', '<end>'),
    encodeRequest: (request) => encodeRequest(requests, request),
    encodeAction: (action) => encodeAction(actions, action),
    encodeObservation: (tool, observation) => [
      ...encodeResult(vocabulary, shapes.get(tool), observation),
      turn,
    ],
    parseAction: (tokens) => parseAction(actions, tokens),
    names: (parts.names ?? []).map((pool) => pool.map((value) => vocabulary.value(value))),
    longestAction: longestAction(actions),
    actions: actionPhrase(actions),
    decodeRequest(tokens) {
      try {
        return decodeRequest(requests, tokens);
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        throw new LabError(error.message, {
          where: 'request',
          remedy: 'give the tokens of one whole request',
        });
      }
    },
  };
}

function* signs(
  { tools, values }: LanguageParts,
  objects: readonly string[],
  intents: readonly string[],
  signatures: ReadonlyMap<string, Signature>,
): Generator<Sign> {
  for (const name of MARKS) yield { kind: 'mark', name };
  if ([...signatures.values()].some(({ optional }) => optional.length > 0))
    yield { kind: 'mark', name: 'with' };
  for (const { name } of tools) yield { kind: 'tool', name };
  for (const name of intents) yield { kind: 'intent', name };
  for (const name of objects) yield { kind: 'object', name };
  for (const tool of tools) for (const name of fieldNames(tool)) yield { kind: 'field', name };
  for (const name of ERRORS) yield { kind: 'error', name };
  for (const tool of tools) for (const value of spelledValues(tool)) yield { kind: 'value', value };
  for (const value of values) yield { kind: 'value', value };
}

function encodeResult(vocabulary: Vocabulary, shape: Shape | undefined, observation: Observation): number[] {
  if (!observation.ok) return [vocabulary.id('error', observation.error.code)];
  const tokens: number[] = [];
  pushValue(vocabulary, shape ?? { kind: 'value' }, observation.value, tokens);
  return tokens;
}

function pushValue(vocabulary: Vocabulary, shape: Shape, value: Json, tokens: number[]): void {
  if (shape.kind === 'list' && Array.isArray(value)) {
    for (const item of value) pushValue(vocabulary, shape.item, item, tokens);
    tokens.push(vocabulary.id('mark', ']'));
  } else if (shape.kind === 'object' && isObject(value)) {
    for (const [name, field] of shape.fields) pushValue(vocabulary, field, value[name] ?? null, tokens);
  } else {
    // A single value, or null in the place of an object or a list.
    tokens.push(vocabulary.value(value));
  }
}
