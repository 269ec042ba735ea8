import { expect } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import { type Address, type Kernels, openKernels } from '../../../src/policy/wasm/kernels.ts';
import { LinearMemory } from '../../../src/policy/wasm/memory.ts';
import { relativeError } from '../../kernel/numbers.ts';

/** Row counts that are nothing, one, and no multiple of any tile. */
export const COUNTS = [0, 1, 3, 4, 17, 65, 300];

/** Forward kernels agree with their twins to this, gradients to ten times it. */
export const FORWARD = 1e-5;
export const GRADIENT = 1e-4;

/** Stands behind every array: a kernel that writes too far is found. */
const GUARD = 16;
const SENTINEL = 0x5ca1ab1e;

/** Kernels over a memory of their own, and arrays in it. */
export class Bench {
  readonly kernels: Kernels;
  readonly #memory: LinearMemory;

  private constructor(kernels: Kernels, memory: LinearMemory) {
    this.kernels = kernels;
    this.#memory = memory;
    kernels.setProductScratch(this.room(Number(kernels.PRODUCT_SCRATCH.value) / 4));
  }

  static async open(): Promise<Bench> {
    const memory = new LinearMemory();
    return new Bench(await openKernels(memory.memory), memory);
  }

  /** A copy of the numbers in the memory. */
  put(values: Float32Array | Int32Array): Address {
    const at = this.room(values.length);
    if (values instanceof Int32Array) this.#memory.ids(at, values.length).set(values);
    else this.#memory.reals(at, values.length).set(values);
    return at;
  }

  /** Room full of NaN: an output that shows any entry a kernel forgets to write. */
  room(count: number): Address {
    const { at } = this.#memory.allocate(
      { values: count + GUARD },
      { what: 'a test', remedy: 'make it smaller' },
    );
    this.#memory.reals(at.values, count).fill(Number.NaN);
    this.#memory.ids(at.values + 4 * count, GUARD).fill(SENTINEL);
    return at.values;
  }

  /** What stands there now; behind it nothing may have changed. */
  read(at: Address, count: number): Float32Array {
    expect([...this.#memory.ids(at + 4 * count, GUARD)]).toEqual(new Array(GUARD).fill(SENTINEL));
    return this.#memory.reals(at, count).slice();
  }

  /** ‖there − reference‖ / ‖reference‖. */
  error(at: Address, reference: Float64Array): number {
    return relativeError(this.read(at, reference.length), reference);
  }
}

/** A named stream for one case of a test. */
export const caseRng = (...parts: (string | number)[]): Rng => new Rng(parts.join('/'));

/** Sequences of ragged lengths that fill n positions: their starts and positions. */
export function ragged(rng: Rng, n: number, longest: number): Record<'starts' | 'positions', Int32Array> {
  const starts = new Int32Array(n);
  for (let at = 0; at < n; ) {
    const end = Math.min(n, at + 1 + rng.int(longest));
    starts.fill(at, at, end);
    at = end;
  }
  return { starts, positions: starts.map((start, i) => i - start) };
}
