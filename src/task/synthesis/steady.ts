import { canonicalJson, type Json } from '../../base/json.ts';
import type { Ref } from '../../world/request.ts';
import type { Objects } from '../walk/objects.ts';

/** A reference with what it meant in s0: its root and its value. */
export interface Pinned {
  ref: Ref;
  root: Json;
  value: Json;
}

/** Pins references to what they mean in the world as it stands. Those that mean nothing are left out. */
export function pin(objects: Objects, refs: readonly Ref[]): Pinned[] {
  return refs.flatMap((ref) => {
    const root = objects.rootValue(ref.root);
    const value = root === undefined ? undefined : objects.follow(root, ref.path);
    return root === undefined || value === undefined ? [] : [{ ref, root, value }];
  });
}

/**
 * Whether a reference still means in the world as it stands what it meant in s0. Its description may have stopped fitting
 * on the way, but must not have come to fit something else.
 */
export function isSteady(objects: Objects, { ref, root, value }: Pinned): boolean {
  const written = ref.root;
  if ('the' in written && objects.matching(written.the, written.where).some((id) => id !== root))
    return false;
  const now = objects.follow(root, ref.path);
  return now !== undefined && canonicalJson(now) === canonicalJson(value);
}
