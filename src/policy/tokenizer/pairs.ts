/**
 * A hash table from pairs of ids to whole numbers ≥ 0: open addressing with linear probing in flat arrays, since a `Map` would
 * need a string or a boxed number for every pair. Holds no more than 2^29 pairs; nothing is ever removed.
 */
export class PairTable {
  #capacity: number;
  #left: Int32Array;
  #right: Int32Array;
  /** Value + 1; 0 = empty. */
  #values: Int32Array;
  #size = 0;

  /** @param expected about how many pairs will come. */
  constructor(expected = 16) {
    this.#capacity = 2 ** Math.ceil(Math.log2(Math.max(16, 2 * expected)));
    this.#left = new Int32Array(this.#capacity);
    this.#right = new Int32Array(this.#capacity);
    this.#values = new Int32Array(this.#capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** The value of a pair, −1 where it has none. */
  get(left: number, right: number): number {
    return this.#values[this.#slot(left, right)]! - 1;
  }

  /** Gives a pair a value, in place of the one that it had. */
  set(left: number, right: number, value: number): void {
    const slot = this.#slot(left, right);
    if (this.#values[slot] === 0) {
      this.#size++;
      this.#left[slot] = left;
      this.#right[slot] = right;
    }
    this.#values[slot] = value + 1;
    if (2 * this.#size > this.#capacity) this.#grow();
  }

  /** Where the pair lies, or the empty place where it would. */
  #slot(left: number, right: number): number {
    let hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    const mask = this.#capacity - 1;
    let slot = (hash ^ (hash >>> 13)) & mask;
    while (this.#values[slot] !== 0 && (this.#left[slot] !== left || this.#right[slot] !== right))
      slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [left, right, values] = [this.#left, this.#right, this.#values];
    this.#capacity *= 2;
    this.#left = new Int32Array(this.#capacity);
    this.#right = new Int32Array(this.#capacity);
    this.#values = new Int32Array(this.#capacity);
    for (let i = 0; i < values.length; i++) {
      if (values[i] === 0) continue;
      const slot = this.#slot(left[i]!, right[i]!);
      this.#left[slot] = left[i]!;
      this.#right[slot] = right[i]!;
      this.#values[slot] = values[i]!;
    }
  }
}
