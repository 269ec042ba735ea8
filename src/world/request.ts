import type { Json } from '../base/json.ts';

/**
 * A thing named in a request by a path that starts at something the reader can see.
 * `{ root: { id: 'T-12' }, path: ['owner', 'email'] }` is "the e-mail address of the owner of T-12".
 */
export interface Ref {
  root: Root;
  path: string[];
}

/** Where a path starts: an identifier or constant written in the request, or the only object that fits a description. */
export type Root = { id: Json } | { the: string; where: Record<string, Json> };

/** One thing that a request asks for: an effect on the world, or a value to be told. */
export type Goal = { kind: 'do'; intent: string; args: Record<string, Ref> } | { kind: 'tell'; what: Ref };

/** What is asked, in order, free of tool names. Text and tokens are both rendered from it. */
export interface Request {
  goals: Goal[];
}
