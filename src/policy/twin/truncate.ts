import type { Truncation } from '../engine.ts';
import { allows } from '../grammar.ts';
import type { Reals } from './arrays.ts';

/**
 * The truncated distribution of one row of logits at a time (see `Truncation`); its room is used again. With `top` the
 * largest allowed logit, w_v = exp((z_v − top) / T) of the tokens that are left, p_v = w_v / Σ w.
 * Nucleus sampling: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
 */
export class TruncatedRow {
  readonly #weights: Float64Array;
  readonly #ids: Int32Array;
  #logits: Reals = new Float64Array();
  #at = 0;
  #temperature = 0;
  #best = -1;
  #total = 0;
  /** Smallest logit inside the nucleus. */
  #edge = -Infinity;
  #grammar: Truncation['grammar'] | undefined;
  #state = 0;

  /** @param vocab entries of a row. */
  constructor(vocab: number) {
    this.#weights = new Float64Array(vocab);
    this.#ids = new Int32Array(vocab);
  }

  /** Takes the row at `at`. @param state of the grammar, where there is one. */
  read(logits: Reals, at: number, { temperature, topP = 1, grammar }: Truncation, state = 0): this {
    this.#logits = logits;
    this.#at = at;
    this.#temperature = temperature;
    this.#grammar = grammar;
    this.#state = state;
    this.#best = -1;
    this.#edge = -Infinity;
    const v = this.#weights.length;
    for (let id = 0; id < v; id++)
      if (this.#allowed(id) && (this.#best < 0 || logits[at + id]! > logits[at + this.#best]!))
        this.#best = id;
    if (temperature === 0 || this.#best < 0) return this;
    this.#weigh();
    if (topP < 1) {
      this.#edge = this.#nucleusEdge(topP * this.#total);
      this.#weigh();
    }
    return this;
  }

  /** The largest logit's token, the lowest id on a tie; −1 where the grammar allows none. */
  get best(): number {
    return this.#best;
  }

  /** Log-probability in nats; −Infinity outside the grammar or the nucleus, and of all but `best` at temperature 0. */
  logProb(id: number): number {
    if (this.#temperature === 0) return id === this.#best ? 0 : -Infinity;
    return this.#inside(id) ? this.#power(id) - Math.log(this.#total) : -Infinity;
  }

  /**
   * Inverse CDF in id order: the first id whose cumulative weight passes u·Σ w; `best` at temperature 0.
   * @param u in [0, 1).
   */
  draw(u: number): number {
    if (this.#temperature === 0) return this.#best;
    const mark = u * this.#total;
    let sum = 0;
    for (let id = 0; id < this.#weights.length; id++) {
      sum += this.#weights[id]!;
      if (sum > mark) return id;
    }
    // Not reached in float64, where the same sum in the same order ends at Σ w > mark; stated for NaN logits.
    return this.#best;
  }

  #allowed(id: number): boolean {
    return this.#grammar === undefined || allows(this.#grammar, this.#state, id);
  }

  #inside(id: number): boolean {
    return this.#logits[this.#at + id]! >= this.#edge && this.#allowed(id);
  }

  #power(id: number): number {
    return (this.#logits[this.#at + id]! - this.#logits[this.#at + this.#best]!) / this.#temperature;
  }

  #weigh(): void {
    this.#total = 0;
    for (let id = 0; id < this.#weights.length; id++) {
      const weight = this.#inside(id) ? Math.exp(this.#power(id)) : 0;
      this.#weights[id] = weight;
      this.#total += weight;
    }
  }

  /** The largest logit z with Σ_{z_v ≥ z} w_v ≥ goal: a quickselect by mass, linear on average. */
  #nucleusEdge(goal: number): number {
    const z = (i: number) => this.#logits[this.#at + this.#ids[i]!]!;
    let count = 0;
    for (let id = 0; id < this.#weights.length; id++) if (this.#allowed(id)) this.#ids[count++] = id;
    let from = 0;
    for (let need = goal; ; ) {
      const [a, b, c] = [z(from), z((from + count) >> 1), z(count - 1)];
      const pivot = Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
      // Larger ones first, then equal ones, then the rest.
      let [above, equal, i] = [from, from, from];
      let [massAbove, massEqual] = [0, 0];
      for (; i < count; i++) {
        const value = z(i);
        if (value < pivot) continue;
        const weight = this.#weights[this.#ids[i]!]!;
        this.#swap(i, equal++);
        if (value > pivot) {
          this.#swap(equal - 1, above++);
          massAbove += weight;
        } else massEqual += weight;
      }
      if (massAbove >= need) count = above;
      else if (massAbove + massEqual >= need || equal === count) return pivot;
      else {
        need -= massAbove + massEqual;
        from = equal;
      }
    }
  }

  #swap(i: number, j: number): void {
    const held = this.#ids[i]!;
    this.#ids[i] = this.#ids[j]!;
    this.#ids[j] = held;
  }
}
