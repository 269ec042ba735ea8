/** Distinct keys that are held exactly before a sketch takes over. */
const EXACT = 131_072;
/** Cells of one row of the count sketch: 2²² of 4 bytes. */
const WIDTH = 4_194_304;
/** Bits of the membership sketch: 2²⁸ (32 MiB). */
const BITS = 268_435_456;

/** Mixes a 53-bit hash with a small whole number: one key for (value, place). One-to-one for a fixed `salt`. */
export function mixKey(hash: number, salt: number): number {
  const low = Math.imul((hash >>> 0) ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  const high = (Math.floor(hash / 4294967296) ^ Math.imul(salt + 1, 0x27d4eb2f)) & 2097151;
  return high * 4294967296 + ((low ^ (low >>> 16)) >>> 0);
}

function cell(key: number, row: number, size: number): number {
  const high = Math.floor(key / 4294967296);
  const mixed = Math.imul(
    (key >>> 0) ^ Math.imul(high + row, 0x9e3779b1),
    row === 0 ? 0x85ebca6b : 0xc2b2ae35,
  );
  return ((mixed ^ (mixed >>> 15)) >>> 0) % size;
}

/**
 * Counts by 53-bit key in bounded memory: exact up to 131,072 keys, then a count–min sketch of two rows (Cormode and
 * Muthukrishnan 2005), which never under-counts. The state after n additions does not depend on their order.
 */
export class Counts {
  #exact: Map<number, number> | null = new Map();
  #rows: [Uint32Array, Uint32Array] | null = null;

  add(key: number, by = 1): void {
    if (this.#exact) {
      this.#exact.set(key, (this.#exact.get(key) ?? 0) + by);
      if (this.#exact.size > EXACT) this.#fold(this.#exact);
    } else this.#addToRows(key, by);
  }

  /** Times the key was added, or a little more. */
  get(key: number): number {
    if (this.#exact) return this.#exact.get(key) ?? 0;
    const [a, b] = this.#rows as [Uint32Array, Uint32Array];
    return Math.min(a[cell(key, 0, WIDTH)] as number, b[cell(key, 1, WIDTH)] as number);
  }

  #fold(exact: Map<number, number>): void {
    this.#rows = [new Uint32Array(WIDTH), new Uint32Array(WIDTH)];
    this.#exact = null;
    for (const [key, count] of exact) this.#addToRows(key, count);
  }

  #addToRows(key: number, by: number): void {
    const [a, b] = this.#rows as [Uint32Array, Uint32Array];
    const i = cell(key, 0, WIDTH);
    const j = cell(key, 1, WIDTH);
    a[i] = (a[i] as number) + by;
    b[j] = (b[j] as number) + by;
  }
}

/**
 * A set of 53-bit keys in bounded memory: exact up to 131,072 keys, then a Bloom filter of two hashes (false members
 * under 2% at 20 million keys; never a lost one). Independent of the order of additions.
 */
export class KeySet {
  #exact: Set<number> | null = new Set();
  #bits: Uint32Array | null = null;

  add(key: number): void {
    if (this.#exact) {
      this.#exact.add(key);
      if (this.#exact.size > EXACT) {
        const all = this.#exact;
        this.#exact = null;
        this.#bits = new Uint32Array(BITS / 32);
        for (const held of all) this.#mark(held);
      }
    } else this.#mark(key);
  }

  has(key: number): boolean {
    if (this.#exact) return this.#exact.has(key);
    const bits = this.#bits as Uint32Array;
    for (let row = 0; row < 2; row++) {
      const at = cell(key, row, BITS);
      if (((bits[at >>> 5] as number) & (1 << (at & 31))) === 0) return false;
    }
    return true;
  }

  #mark(key: number): void {
    const bits = this.#bits as Uint32Array;
    for (let row = 0; row < 2; row++) {
      const at = cell(key, row, BITS);
      bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31));
    }
  }
}

/** A set of 53-bit keys that is emptied often: O(1) to empty, no allocation once it has grown. */
export class Once {
  #keys = new Float64Array(256);
  #rounds = new Uint32Array(256);
  #round = 1;
  #size = 0;

  clear(): void {
    this.#round++;
    this.#size = 0;
    if (this.#round === 4294967295) {
      this.#rounds.fill(0);
      this.#round = 1;
    }
  }

  /** True the first time a key is given since the set was emptied. */
  first(key: number): boolean {
    if (this.#size * 2 >= this.#keys.length) this.#grow();
    const mask = this.#keys.length - 1;
    let at = cell(key, 0, this.#keys.length);
    while (this.#rounds[at] === this.#round) {
      if (this.#keys[at] === key) return false;
      at = (at + 1) & mask;
    }
    this.#keys[at] = key;
    this.#rounds[at] = this.#round;
    this.#size++;
    return true;
  }

  #grow(): void {
    const held: number[] = [];
    this.#keys.forEach((key, i) => {
      if (this.#rounds[i] === this.#round) held.push(key);
    });
    this.#keys = new Float64Array(this.#keys.length * 2);
    this.#rounds = new Uint32Array(this.#keys.length);
    this.#round = 1;
    this.#size = 0;
    for (const key of held) this.first(key);
  }
}
