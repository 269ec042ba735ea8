import { PairTable } from './pairs.ts';

/** The merges of a byte-pair encoding: rank r joins (left, right) into one id; lower ranks go first. Arrays [M]. */
export interface Merges {
  left: Int32Array;
  right: Int32Array;
  /** The id that they become. */
  merged: Int32Array;
}

/** Ranks are packed above positions in one number, exact in float64 as long as ranks < 2^21. */
const POSITIONS = 2 ** 31;

/**
 * Applies merges to one pre-token: always the pair of lowest rank, the leftmost of equals (Sennrich et al. 2016,
 * "Neural Machine Translation of Rare Words with Subword Units", algorithm 1, applied to new words). A linked list of
 * ids and a heap of candidate pairs make it O(n log n) in the length, for one letter repeated as well.
 */
export class Merger {
  readonly #ranks: PairTable;
  readonly #merged: Int32Array;
  #ids = new Int32Array(64);
  #next = new Int32Array(64);
  #before = new Int32Array(64);
  /** Binary min-heap of rank · 2^31 + position. */
  readonly #heap: number[] = [];

  constructor({ left, right, merged }: Merges) {
    this.#ranks = new PairTable(left.length);
    for (let rank = 0; rank < left.length; rank++) this.#ranks.set(left[rank]!, right[rank]!, rank);
    this.#merged = merged;
  }

  /** @param ids one for each byte. @returns the ids after all merges. */
  merge(ids: ArrayLike<number>): number[] {
    const n = ids.length;
    if (n < 2) return Array.from(ids);
    if (n > this.#ids.length) {
      this.#ids = new Int32Array(2 * n);
      this.#next = new Int32Array(2 * n);
      this.#before = new Int32Array(2 * n);
    }
    const [id, next, before] = [this.#ids, this.#next, this.#before];
    for (let i = 0; i < n; i++) {
      id[i] = ids[i]!;
      next[i] = i + 1 < n ? i + 1 : -1;
      before[i] = i - 1;
    }
    for (let i = 0; i + 1 < n; i++) this.#offer(i);
    while (this.#heap.length > 0) {
      const top = this.#pop();
      const rank = Math.floor(top / POSITIONS);
      const at = top - rank * POSITIONS;
      const after = next[at]!;
      // Entries go stale when a neighbour merges; a position that was swallowed has id −1 and no rank.
      if (after < 0 || id[at]! < 0 || this.#ranks.get(id[at]!, id[after]!) !== rank) continue;
      id[at] = this.#merged[rank]!;
      id[after] = -1;
      const beyond = next[after]!;
      next[at] = beyond;
      if (beyond >= 0) {
        before[beyond] = at;
        this.#offer(at);
      }
      if (before[at]! >= 0) this.#offer(before[at]!);
    }
    const out: number[] = [];
    for (let i = 0; i >= 0; i = next[i]!) out.push(id[i]!);
    return out;
  }

  #offer(at: number): void {
    const rank = this.#ranks.get(this.#ids[at]!, this.#ids[this.#next[at]!]!);
    if (rank < 0) return;
    const heap = this.#heap;
    const key = rank * POSITIONS + at;
    let i = heap.length;
    heap.push(key);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]! <= key) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = key;
  }

  #pop(): number {
    const heap = this.#heap;
    const top = heap[0]!;
    const last = heap.pop()!;
    const n = heap.length;
    if (n === 0) return top;
    let i = 0;
    for (let child = 1; child < n; child = 2 * i + 1) {
      if (child + 1 < n && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= last) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}
