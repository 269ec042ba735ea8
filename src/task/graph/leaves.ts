import { hash53 } from '../../base/hash.ts';
import type { Json } from '../../base/json.ts';
import { isDynamicKey, type Step, stepText } from './path.ts';

export type Leaf = string | number | boolean;

/** Longest string that can be evidence, in UTF-16 units. */
export const LONGEST_VALUE = 400;
/** Deeper values are left out: no tool's output nests so far, and a hostile file must not exhaust the stack. */
const DEEPEST = 64;

/** Step of a value that is a scalar itself. */
const ROOT = -1;

const number = new Float64Array(1);
const halves = new Uint32Array(number.buffer);

/** 53-bit hash of a string or a number; equal values of different types have different hashes. */
export function hashValue(value: string | number): number {
  if (typeof value === 'string') return hash53(value, 1);
  number[0] = value === 0 ? 0 : value;
  const low = Math.imul((halves[0] as number) ^ 0x9e3779b9, 0x85ebca6b);
  const high = Math.imul((halves[1] as number) ^ (low >>> 15), 0xc2b2ae35);
  return 4294967296 * ((high ^ (high >>> 13)) & 2097151) + ((low ^ Math.imul(high, 0x27d4eb2f)) >>> 0);
}

/**
 * The scalars of one JSON value with their places, in document order. Made to be refilled: one object serves a whole
 * corpus, and a path becomes text only where it is asked for. `null` and empty containers are no leaves.
 */
export class Leaves {
  count = 0;
  /** Leaf by index. */
  readonly values: Leaf[] = [];
  /** `hashValue` by index; NaN for booleans and for strings longer than `LONGEST_VALUE`. */
  hashes = new Float64Array(64);
  /** Order-sensitive digest of all leaves: equal values give equal digests. */
  digest = 0;
  readonly #steps: Step[] = [];
  #parents = new Int32Array(64);
  #frames = 0;
  readonly #frameSteps: Step[] = [];
  readonly #frameParents: number[] = [];

  /** Replaces the content by the leaves of `value` (none for `undefined`). */
  fill(value: Json | undefined): this {
    this.count = 0;
    this.#frames = 0;
    this.digest = 1;
    if (value !== undefined) this.#visit(value, -1, ROOT, 0);
    this.values.length = this.count;
    return this;
  }

  #visit(value: Json, parent: number, step: Step, depth: number): void {
    if (value === null || depth > DEEPEST) return;
    if (typeof value !== 'object') {
      this.#push(value, parent, step);
      return;
    }
    let frame = -1;
    if (depth > 0) {
      frame = this.#frames++;
      this.#frameSteps[frame] = step;
      this.#frameParents[frame] = parent;
    }
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) this.#visit(value[i] as Json, frame, i, depth + 1);
    } else {
      for (const key of Object.keys(value)) this.#visit(value[key] as Json, frame, key, depth + 1);
    }
  }

  #push(value: Leaf, parent: number, step: Step): void {
    const at = this.count++;
    if (at === this.hashes.length) this.#grow();
    this.values[at] = value;
    this.#steps[at] = step;
    this.#parents[at] = parent;
    let hash = Number.NaN;
    if (typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_VALUE)) {
      hash = hashValue(value);
      this.digest = Math.imul(this.digest ^ (hash >>> 0), 0x9e3779b1) ^ (this.digest >>> 15);
    } else {
      const text =
        typeof value === 'string' ? `${value.length}:${value.slice(0, LONGEST_VALUE)}` : String(value);
      this.digest = Math.imul(this.digest ^ (hash53(text, 2) >>> 0), 0x9e3779b1) ^ (this.digest >>> 15);
    }
    this.hashes[at] = hash;
  }

  #grow(): void {
    const hashes = new Float64Array(this.hashes.length * 2);
    hashes.set(this.hashes);
    this.hashes = hashes;
    const parents = new Int32Array(hashes.length);
    parents.set(this.#parents);
    this.#parents = parents;
  }

  /** Steps from the root to leaf `at`. */
  #way(at: number): Step[] {
    const way: Step[] = [this.#steps[at] as Step];
    for (let f = this.#parents[at] as number; f >= 0; f = this.#frameParents[f] as number) {
      way.push(this.#frameSteps[f] as Step);
    }
    return way.reverse();
  }

  /** True where leaf `at` is the whole value or a direct field of it. */
  isTop(at: number): boolean {
    return (this.#parents[at] as number) < 0;
  }

  /** The last step to leaf `at`. */
  step(at: number): Step {
    return this.#steps[at] as Step;
  }

  /** Number of steps from the root. */
  depth(at: number): number {
    let depth = 1;
    for (let f = this.#parents[at] as number; f >= 0; f = this.#frameParents[f] as number) depth++;
    return depth;
  }

  /**
   * Name of the field that holds leaf `at`: indices and keys that are data are skipped, so that `item_ids[2]` is
   * `item_ids`. Empty where the value is no object.
   */
  field(at: number): string {
    const step = this.#steps[at] as Step;
    if (typeof step === 'string' && !isDynamicKey(step)) return step;
    return this.#above(this.#parents[at] as number).name;
  }

  /** Name of the field around the one that holds leaf `at`: `user` for `user.id`. */
  around(at: number): string {
    const step = this.#steps[at] as Step;
    let frame = this.#parents[at] as number;
    if (typeof step !== 'string' || isDynamicKey(step)) frame = this.#above(frame).parent;
    return this.#above(frame).name;
  }

  #above(start: number): { name: string; parent: number } {
    for (let frame = start; frame >= 0; frame = this.#frameParents[frame] as number) {
      const step = this.#frameSteps[frame] as Step;
      if (typeof step === 'string' && !isDynamicKey(step)) {
        return { name: step, parent: this.#frameParents[frame] as number };
      }
    }
    return { name: '', parent: -1 };
  }

  /** Concrete path of leaf `at`: `orders[0].id`; empty where the value is a scalar. */
  path(at: number): string {
    return pathOf(this.#way(at), Number.POSITIVE_INFINITY);
  }

  /**
   * Path of leaf `at` with every index and every key that is data as `[*]`.
   * @param named steps at the start that are names whatever they look like: 1 for the arguments of a call.
   */
  pattern(at: number, named: 0 | 1): string {
    return pathOf(this.#way(at), named);
  }

  /** Index of an equal leaf, −1 where there is none. */
  find(value: string | number, hash: number): number {
    for (let i = 0; i < this.count; i++) if (this.hashes[i] === hash && this.values[i] === value) return i;
    return -1;
  }
}

function pathOf(way: readonly Step[], named: number): string {
  if (way.length === 1 && way[0] === ROOT) return '';
  let text = '';
  way.forEach((step, i) => {
    const any = i >= named && (typeof step === 'number' || isDynamicKey(step));
    text += stepText(any ? { any: true } : step, i === 0);
  });
  return text;
}

/** True where a scalar can be evidence of a data edge: 4–400 characters, or a number of at least three digits. */
export function isTelling(value: Leaf, shortest: number): value is string | number {
  if (typeof value === 'string') return value.length >= shortest && value.length <= LONGEST_VALUE;
  if (typeof value !== 'number') return false;
  if (Number.isInteger(value)) return Math.abs(value) >= 100;
  if (!Number.isFinite(value)) return false;
  const tenths = value * 10;
  return Math.abs(value) >= 10 || Math.abs(tenths - Math.round(tenths)) > 1e-9;
}
