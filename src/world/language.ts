import type { Json, JsonObject } from '../base/json.ts';
import type { Observation } from './kit.ts';
import type { Request } from './request.ts';

/** What a policy says in a turn: a call, or that it is done, with the answers it was asked to tell. */
export type Action = { kind: 'call'; tool: string; args: JsonObject } | { kind: 'done'; answers: Json[] };

/** What the tokens of a turn meant; `why` says what was wrong with tokens that are no action. */
export type Parsed = { ok: true; action: Action } | { ok: false; why: string };

/** What may be said, as a regular expression whose letters are sets of token ids; `most` null = without bound. */
export type Phrase =
  | { kind: 'one'; of: readonly number[] }
  | { kind: 'seq'; parts: readonly Phrase[] }
  | { kind: 'choice'; parts: readonly Phrase[] }
  | { kind: 'repeat'; part: Phrase; least: number; most: number | null };

/**
 * The small token language of a world: `bos request turn*`, a turn being `action end observation`, the last one
 * `done answer* end`. Token ids are indices into `vocabulary`. Encoding is injective: decode(encode(x)) = x.
 */
export interface Language {
  vocabulary: readonly string[];
  /** Id of the token that ends every action of the policy. */
  end: number;
  /** The prompt up to the point where the policy speaks. */
  encodeRequest(request: Request): number[];
  /** What the policy should say, the closing `end` included. @throws LabError on a value outside the vocabulary. */
  encodeAction(action: Action): number[];
  /** What the world answers to a call. */
  encodeObservation(tool: string, observation: Observation): number[];
  /** Reads sampled tokens (with or without the closing `end`). Never throws. */
  parseAction(tokens: readonly number[]): Parsed;
  /**
   * Pools of tokens that only name things: which ticket is called T-4471 means nothing. Renaming inside a pool, all through
   * an episode, gives an episode of an equal world.
   */
  names: readonly (readonly number[])[];
  /** Longest action in tokens, `end` included. */
  longestAction: number;
  /** All actions as `encodeAction` says them, `end` included. */
  actions: Phrase;
}
