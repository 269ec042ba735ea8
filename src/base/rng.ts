import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { hash53 } from './hash.ts';

/**
 * Seeded random numbers in named streams. `rng.fork('walk')` depends on the seed and the name alone, never on how
 * many numbers were drawn before, so adding a consumer does not disturb the others.
 */
export class Rng {
  readonly #key: string;
  readonly #source: RandomGenerator;

  /** @param seed any whole number or text; equal seeds give equal streams on every machine. */
  constructor(seed: number | string) {
    this.#key = String(seed);
    const hash = hash53(this.#key);
    this.#source = xoroshiro128plus((hash % 4294967296) | 0);
  }

  /** Seed and names of the forks down to this stream, as "3/sft/batches": all that decides its numbers. */
  get key(): string {
    return this.#key;
  }

  /** An independent stream for one purpose. */
  fork(name: string | number): Rng {
    return new Rng(`${this.#key}/${name}`);
  }

  /** 32 random bits as an unsigned whole number. */
  bits(): number {
    return this.#source.next() >>> 0;
  }

  /** Uniform in [0, 1). */
  float(): number {
    return this.bits() / 4294967296;
  }

  /** Uniform whole number in [0, n). @throws RangeError where n is not a positive whole number. */
  int(n: number): number {
    if (!Number.isInteger(n) || n < 1) throw new RangeError(`Rng.int needs a whole number ≥ 1, got ${n}`);
    return Math.floor(this.float() * n);
  }

  /** True with probability p. */
  chance(p: number): boolean {
    return this.float() < p;
  }

  /** One element, uniformly. @throws RangeError on an empty list. */
  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }

  /** Index drawn in proportion to non-negative weights; -1 where they sum to 0. */
  weighted(weights: readonly number[]): number {
    const total = weights.reduce((sum, w) => sum + w, 0);
    if (!(total > 0)) return -1;
    let left = this.float() * total;
    let last = -1;
    for (let i = 0; i < weights.length; i++) {
      const w = weights[i] as number;
      if (w <= 0) continue;
      last = i;
      left -= w;
      if (left < 0) return i;
    }
    return last;
  }

  /** A new list in random order (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(i + 1);
      const held = out[i] as T;
      out[i] = out[j] as T;
      out[j] = held;
    }
    return out;
  }

  /** n distinct elements in random order. @throws RangeError where there are fewer than n. */
  sample<T>(items: readonly T[], n: number): T[] {
    if (n > items.length) throw new RangeError(`Rng.sample: ${n} of ${items.length} items`);
    return this.shuffle(items).slice(0, n);
  }
}
