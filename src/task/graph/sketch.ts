/** Distinct keys that are held exactly before a sketch takes over. */
const EXACT = 1_048_576;
/** Cells of the count sketch: 2²⁴ of 4 bytes. */
const WIDTH = 16_777_216;
/** Words of the membership sketch: 2²³ of 32 bits (32 MiB). */
const WORDS = 8_388_608;
/** Cells of a line of the processor's cache: the two cells of a key stand in one, so that it is fetched once. */
const LINE = 16;

/** Mixes a 53-bit hash with a 32-bit whole number: one key for (value, place). One-to-one for a fixed `salt`. */
export function mixKey(hash: number, salt: number): number {
  const low = Math.imul((hash >>> 0) ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  const high = (Math.floor(hash / 4294967296) ^ Math.imul(salt + 1, 0x27d4eb2f)) & 2097151;
  return high * 4294967296 + ((low ^ (low >>> 16)) >>> 0);
}

/** Key of a value in a slot (`key`) where the tool called before is the one with this salt. */
export function fromTool(key: number, salt: number): number {
  return mixKey(key, Math.imul(salt, 0x165667b1) ^ 0x5bd1e995);
}

/** Place of a key in a row of `size` cells, a power of two. */
function cell(key: number, row: number, size: number): number {
  const high = Math.floor(key / 4294967296);
  const mixed = Math.imul(
    (key >>> 0) ^ Math.imul(high + row, 0x9e3779b1),
    row === 0 ? 0x85ebca6b : 0xc2b2ae35,
  );
  return (mixed ^ (mixed >>> 15)) & (size - 1);
}

/** Counts by 53-bit key in an open-addressing table that doubles; the exact part of what follows. */
class Table {
  size = 0;
  keys = new Float64Array(256);
  counts = new Uint32Array(256);

  /** Cell of the key, or of the free place where it belongs. */
  find(key: number): number {
    const mask = this.keys.length - 1;
    let at = cell(key, 0, this.keys.length);
    while (this.counts[at] !== 0 && this.keys[at] !== key) at = (at + 1) & mask;
    return at;
  }

  add(key: number, by: number): void {
    const at = this.find(key);
    if (this.counts[at] === 0) {
      this.keys[at] = key;
      this.size++;
    }
    this.counts[at] = (this.counts[at] as number) + by;
    if (this.size * 2 > this.keys.length) this.#grow();
  }

  #grow(): void {
    const { keys, counts } = this;
    this.keys = new Float64Array(keys.length * 2);
    this.counts = new Uint32Array(keys.length * 2);
    for (let i = 0; i < keys.length; i++) {
      if (counts[i] === 0) continue;
      const at = this.find(keys[i] as number);
      this.keys[at] = keys[i] as number;
      this.counts[at] = counts[i] as number;
    }
  }
}

/**
 * Counts by 53-bit key in bounded memory: exact up to about a million keys, then a count–min sketch with two cells a key
 * (Cormode and Muthukrishnan 2005) less the mean load of a cell (count–mean–min, Deng and Rafiei 2007). The state after
 * n additions does not depend on their order.
 */
export class Counts {
  #exact: Table | null = new Table();
  #cells: Uint32Array | null = null;
  #total = 0;
  readonly #limit: number;

  /** @param limit distinct keys that are counted exactly. */
  constructor(limit = EXACT) {
    this.#limit = limit;
  }

  add(key: number, by = 1): void {
    this.#total += by;
    if (this.#exact) {
      this.#exact.add(key, by);
      if (this.#exact.size > this.#limit) this.#fold(this.#exact);
    } else this.#spread(this.#cells as Uint32Array, key, by);
  }

  /** Times the key was added; beyond the limit an estimate. */
  get(key: number): number {
    if (this.#exact) return this.#exact.counts[this.#exact.find(key)] as number;
    const cells = this.#cells as Uint32Array;
    const line = cell(key, 0, WIDTH / LINE) * LINE;
    const within = cell(key, 1, 256);
    const least = Math.min(cells[line + (within & 15)] as number, cells[line + (within >>> 4)] as number);
    return Math.max(least - Math.round((2 * this.#total) / WIDTH), Math.min(least, 1));
  }

  #fold({ keys, counts }: Table): void {
    const cells = new Uint32Array(WIDTH);
    this.#cells = cells;
    this.#exact = null;
    for (let i = 0; i < keys.length; i++) {
      if (counts[i] !== 0) this.#spread(cells, keys[i] as number, counts[i] as number);
    }
  }

  #spread(cells: Uint32Array, key: number, by: number): void {
    const line = cell(key, 0, WIDTH / LINE) * LINE;
    const within = cell(key, 1, 256);
    const i = line + (within & 15);
    const j = line + (within >>> 4);
    cells[i] = (cells[i] as number) + by;
    if (i !== j) cells[j] = (cells[j] as number) + by;
  }
}

/**
 * A set of 53-bit keys in bounded memory: exact up to about a million keys, then a Bloom filter of three bits a key in one line
 * (Putze, Sanders and Singler 2007). Never loses a member. Independent of the order of additions.
 */
export class KeySet {
  #exact: Table | null = new Table();
  #words: Uint32Array | null = null;
  readonly #limit: number;

  /** @param limit keys that are held exactly. */
  constructor(limit = EXACT) {
    this.#limit = limit;
  }

  add(key: number): void {
    if (!this.#exact) {
      this.#mark(this.#words as Uint32Array, key);
      return;
    }
    const { counts } = this.#exact;
    if (counts[this.#exact.find(key)] !== 0) return;
    this.#exact.add(key, 1);
    if (this.#exact.size > this.#limit) this.#fold(this.#exact);
  }

  has(key: number): boolean {
    if (this.#exact) return this.#exact.counts[this.#exact.find(key)] !== 0;
    const words = this.#words as Uint32Array;
    const line = cell(key, 0, WORDS / LINE) * LINE;
    const within = cell(key, 1, 1 << 27);
    for (let shift = 0; shift < 27; shift += 9) {
      const bit = (within >>> shift) & 511;
      if (((words[line + (bit >>> 5)] as number) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  #fold({ keys, counts }: Table): void {
    const words = new Uint32Array(WORDS);
    this.#words = words;
    this.#exact = null;
    for (let i = 0; i < keys.length; i++) if (counts[i] !== 0) this.#mark(words, keys[i] as number);
  }

  #mark(words: Uint32Array, key: number): void {
    const line = cell(key, 0, WORDS / LINE) * LINE;
    const within = cell(key, 1, 1 << 27);
    for (let shift = 0; shift < 27; shift += 9) {
      const bit = (within >>> shift) & 511;
      words[line + (bit >>> 5)] = (words[line + (bit >>> 5)] as number) | (1 << (bit & 31));
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
