import type { Json } from '../../../src/base/json.ts';
import { guessEffect } from '../../../src/trace/effect.ts';
import { type Call, callsOf, type Trajectory } from '../../../src/trace/model.ts';

/** One adjacent pair that the naive counter takes for an edge, and the value by which it does. */
export interface NaivePair {
  kind: 'data' | 'loose' | 'state' | 'retry';
  trajectory: string;
  file: string;
  earlier: Call;
  later: Call;
  value: string;
}

const CONSTANTS = new Set(['true', 'false', 'null', 'none', 'default', 'all', '100', '1000']);

function leaves(value: Json | undefined, into: (string | number)[] = []): (string | number)[] {
  if (typeof value === 'string' || typeof value === 'number') into.push(value);
  else if (Array.isArray(value)) for (const item of value) leaves(item, into);
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) leaves(item, into);
  return into;
}

function tells(value: string | number): boolean {
  const text = String(value);
  if (CONSTANTS.has(text.toLowerCase())) return false;
  return typeof value === 'string'
    ? text.length >= 4 && text.length <= 400
    : text.replace(/\D/g, '').length >= 3;
}

function standsIn(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    if (!/\w/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + part.length] ?? ' ')) return true;
  }
  return false;
}

const OBJECT = /(^|_|\b)(id|path|file|filename|url|uri|number)$|Id$|_id/i;

function identifiers(args: Json, name = ''): (string | number)[] {
  if (Array.isArray(args)) return args.flatMap((item) => identifiers(item, name));
  if (typeof args === 'object' && args !== null) {
    return Object.entries(args).flatMap(([key, value]) => identifiers(value, key));
  }
  return (typeof args === 'string' || typeof args === 'number') && OBJECT.test(name) && args !== ''
    ? [args]
    : [];
}

/**
 * The counter behind the table of ../shared/design/trace-formats.md, as far as its text says: every adjacent pair of calls, meta
 * calls and the user's included; values compared by equal text whatever failed, and whatever the corpus is full of.
 */
export function naivePairs(trajectories: readonly Trajectory[]): NaivePair[] {
  const found: NaivePair[] = [];
  for (const trajectory of trajectories) {
    const calls = callsOf(trajectory);
    calls.forEach((later, i) => {
      const earlier = calls[i - 1];
      if (!earlier) return;
      const add = (kind: NaivePair['kind'], value: string | number) =>
        found.push({
          kind,
          trajectory: trajectory.id,
          file: trajectory.file,
          earlier,
          later,
          value: String(value),
        });
      const own = new Set(leaves(earlier.args));
      const fresh = leaves(later.args).filter((value) => tells(value) && !own.has(value));
      const output = new Set(leaves(earlier.result));
      const data = fresh.find((value) => output.has(value));
      if (data !== undefined) add('data', data);
      const text = typeof earlier.result === 'string' ? earlier.result : JSON.stringify(earlier.result ?? '');
      const loose = data ?? fresh.find((value) => standsIn(text, String(value)));
      if (loose !== undefined) add('loose', loose);
      if (guessEffect(earlier.tool) !== 'read' && !earlier.meta) {
        const named = new Set(identifiers(earlier.args));
        const shared = identifiers(later.args).find((value) => named.has(value));
        if (shared !== undefined) add('state', shared);
      }
      const changed =
        earlier.tool !== later.tool || JSON.stringify(earlier.args) !== JSON.stringify(later.args);
      if (earlier.error !== null && later.error === null && changed && !earlier.meta && !later.meta) {
        add('retry', earlier.error);
      }
    });
  }
  return found;
}
