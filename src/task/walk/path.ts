import { isObject, type Json } from '../../base/json.ts';

/** One value found inside a JSON value, and the concrete path (`tickets[0].id`) that leads to it. */
export interface Found {
  path: string;
  value: Json;
}

/** A step of a path: a field, an index, or any element of a list (`*`). */
export type Segment = string | number;

const TOKEN = /\[(\d+|\*|)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g;
const PLAIN = /^[^.[\]"*\\$]+$/;

/**
 * Splits a path into segments. Understands `a.b`, `a[0].b`, `a[].b`, `a[*].b`, `a.0.b`, `a.*.b`, `["a.b"]` and a leading
 * `$`; the empty path (or `$`) is the whole value.
 */
export function parsePath(path: string): Segment[] {
  const segments: Segment[] = [];
  for (const match of path.replace(/^\$(\.|(?=\[)|$)/, '').matchAll(TOKEN)) {
    const inside = match[1];
    const name = match[3];
    if (match[2] !== undefined) segments.push(JSON.parse(match[2]) as string);
    else if (inside !== undefined) segments.push(inside === '' || inside === '*' ? '*' : Number(inside));
    else if (name !== undefined) segments.push(/^\d+$/.test(name) ? Number(name) : name);
  }
  return segments;
}

/** The path as text: the inverse of `parsePath` for concrete paths. */
export function formatPath(segments: readonly Segment[]): string {
  let text = '';
  for (const segment of segments) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!PLAIN.test(segment) || /^\d+$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** All values that a path with wildcards reaches, in order; none where it leads nowhere. */
export function valuesAt(root: Json, path: string): Found[] {
  let found: { at: Segment[]; value: Json }[] = [{ at: [], value: root }];
  for (const segment of parsePath(path)) {
    const next: typeof found = [];
    for (const { at, value } of found) {
      if (Array.isArray(value)) {
        if (segment === '*') next.push(...value.map((item, i) => ({ at: [...at, i], value: item })));
        else if (typeof segment === 'number' && segment < value.length) {
          next.push({ at: [...at, segment], value: value[segment] as Json });
        }
      } else if (isObject(value) && Object.hasOwn(value, String(segment))) {
        next.push({ at: [...at, String(segment)], value: value[String(segment)] as Json });
      }
    }
    found = next;
  }
  return found.map(({ at, value }) => ({ path: formatPath(at), value }));
}

/** The value at a concrete path, `undefined` where there is none. */
export function valueAt(root: Json, path: string): Json | undefined {
  return valuesAt(root, path)[0]?.value;
}

/** Every scalar (text, number, boolean) inside a value with its concrete path, in document order. */
export function leavesOf(root: Json): Found[] {
  const leaves: Found[] = [];
  const visit = (value: Json, at: Segment[]): void => {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) visit(item, [...at, i]);
    else if (isObject(value)) for (const key of Object.keys(value)) visit(value[key] as Json, [...at, key]);
    else if (value !== null) leaves.push({ path: formatPath(at), value });
  };
  visit(root, []);
  return leaves;
}
