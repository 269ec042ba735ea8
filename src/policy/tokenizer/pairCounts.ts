import { PairTable } from './pairs.ts';

/** Distinct words as byte-pair training sees them. */
export interface WordTable {
  /** Ids of all words, one word after another. */
  ids: Int32Array;
  /** Where each word begins in `ids` [W + 1]. */
  starts: Int32Array;
  /** How often each word occurs [W]. */
  weights: Float64Array;
}

/**
 * How often each pair of neighbouring ids occurs, kept up to date while pairs are merged: a merge visits only the words that
 * hold the pair, and touches only the counts of its neighbours. The most frequent pair comes from a heap whose entries may
 * be out of date; since a count grows only in the merge that makes its id, an entry that claims too much goes back with
 * the true count when it comes up. A pair of ids (a, a) counts twice in a a a, as neighbours do.
 */
export class PairCounts {
  /** The words as they are now; a word takes the first lengths[w] places of its stretch. */
  readonly #ids: Int32Array;
  readonly #starts: Int32Array;
  readonly #weights: Float64Array;
  readonly #lengths: Int32Array;
  /** Number of each pair, by which the following four are indexed. */
  readonly #numbers = new PairTable(1 << 14);
  readonly #left: number[] = [];
  readonly #right: number[] = [];
  readonly #counts: number[] = [];
  /** Words that hold the pair, or did; one may be listed again. */
  readonly #words: number[][] = [];
  /** Binary max-heap: numbers of pairs, and the counts that they were put in with. */
  readonly #heap: number[] = [];
  readonly #keys: number[] = [];
  /** Pairs whose count has grown since they were put in. */
  readonly #grown = new Set<number>();

  /** Takes `table.ids` over and writes into it; its pairs are counted by `count`. */
  constructor(table: WordTable) {
    this.#ids = table.ids;
    this.#starts = table.starts;
    this.#weights = table.weights;
    this.#lengths = table.starts.slice(1).map((end, w) => end - table.starts[w]!);
  }

  /** Counts the pairs of words from … to − 1, or as many as there are. Every word is to be counted once, before any merge. */
  count(from: number, to: number): void {
    for (let w = from; w < Math.min(to, this.#lengths.length); w++)
      for (let i = this.#starts[w]! + 1; i < this.#starts[w + 1]!; i++)
        this.#add(this.#ids[i - 1]!, this.#ids[i]!, w);
  }

  /**
   * Takes the most frequent pair out; of equals, the one of the lowest left id, then of the lowest right id.
   * @returns null where no pair occurs `least` times.
   */
  take(least: number): { left: number; right: number; count: number } | null {
    this.#queueGrown();
    while (this.#heap.length > 0) {
      const key = this.#keys[0]!;
      const pair = this.#popHeap();
      const count = this.#counts[pair]!;
      if (key < least) return null;
      if (count === key) return { left: this.#left[pair]!, right: this.#right[pair]!, count };
      if (count >= least) this.#pushHeap(pair, count);
    }
    return null;
  }

  /** Joins every (left, right), from left to right in each word, into `merged`. */
  merge(left: number, right: number, merged: number): void {
    const pair = this.#numbers.get(left, right);
    const words = this.#words[pair]!;
    this.#words[pair] = [];
    for (const w of words) this.#mergeIn(w, left, right, merged);
  }

  #mergeIn(w: number, left: number, right: number, merged: number): void {
    const ids = this.#ids;
    const start = this.#starts[w]!;
    const end = start + this.#lengths[w]!;
    const weight = this.#weights[w]!;
    let to = start;
    for (let at = start; at < end; ) {
      if (at + 1 >= end || ids[at] !== left || ids[at + 1] !== right) {
        ids[to++] = ids[at++]!;
        continue;
      }
      this.#take(left, right, weight);
      if (to > start) {
        this.#take(ids[to - 1]!, left, weight);
        this.#add(ids[to - 1]!, merged, w);
      }
      if (at + 2 < end) {
        this.#take(right, ids[at + 2]!, weight);
        this.#add(merged, ids[at + 2]!, w);
      }
      ids[to++] = merged;
      at += 2;
    }
    this.#lengths[w] = to - start;
  }

  #take(left: number, right: number, weight: number): void {
    const pair = this.#numbers.get(left, right);
    this.#counts[pair] = this.#counts[pair]! - weight;
  }

  #add(left: number, right: number, w: number): void {
    let pair = this.#numbers.get(left, right);
    if (pair < 0) {
      pair = this.#left.length;
      this.#numbers.set(left, right, pair);
      this.#left.push(left);
      this.#right.push(right);
      this.#counts.push(0);
      this.#words.push([]);
    }
    this.#counts[pair] = this.#counts[pair]! + this.#weights[w]!;
    const words = this.#words[pair]!;
    if (words[words.length - 1] !== w) words.push(w);
    this.#grown.add(pair);
  }

  #queueGrown(): void {
    for (const pair of this.#grown) if (this.#counts[pair]! > 0) this.#pushHeap(pair, this.#counts[pair]!);
    this.#grown.clear();
  }

  /** Whether pair a, with the count `key`, goes before the entry at `place`. */
  #before(a: number, key: number, place: number): boolean {
    const other = this.#keys[place]!;
    if (key !== other) return key > other;
    const b = this.#heap[place]!;
    return (
      this.#left[a]! - this.#left[b]! < 0 ||
      (this.#left[a] === this.#left[b] && this.#right[a]! < this.#right[b]!)
    );
  }

  #pushHeap(pair: number, key: number): void {
    let i = this.#heap.length;
    this.#heap.push(pair);
    this.#keys.push(key);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#before(pair, key, parent)) break;
      this.#heap[i] = this.#heap[parent]!;
      this.#keys[i] = this.#keys[parent]!;
      i = parent;
    }
    this.#heap[i] = pair;
    this.#keys[i] = key;
  }

  #popHeap(): number {
    const top = this.#heap[0]!;
    const pair = this.#heap.pop()!;
    const key = this.#keys.pop()!;
    const n = this.#heap.length;
    if (n === 0) return top;
    let i = 0;
    for (let child = 1; child < n; child = 2 * i + 1) {
      if (child + 1 < n && this.#before(this.#heap[child + 1]!, this.#keys[child + 1]!, child)) child++;
      if (this.#before(pair, key, child)) break;
      this.#heap[i] = this.#heap[child]!;
      this.#keys[i] = this.#keys[child]!;
      i = child;
    }
    this.#heap[i] = pair;
    this.#keys[i] = key;
    return top;
  }
}
