import type { Json } from '../../base/json.ts';
import type { Ref } from '../../world/request.ts';

/** JSON on one line, cut to `most` characters. */
export function shortJson(value: Json, most: number): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A path from something in the request, as `T-12 · owner · email`. */
export function describeRef({ root, path }: Ref): string {
  const start =
    'id' in root
      ? String(root.id)
      : `the ${root.the} with ${Object.entries(root.where)
          .map(([key, value]) => `${key} ${shortJson(value, 40)}`)
          .join(', ')}`;
  return [start, ...path].join(' · ');
}
