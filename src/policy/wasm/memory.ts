import { invariant, LabError } from '../../base/errors.ts';
import type { Address } from './kernels.ts';

const PAGE = 65536;
/** Pages that a 32-bit address reaches: 4 GiB. A browser may end earlier. */
const MOST_PAGES = 65536;
/** Blocks begin at multiples of a cache line; address 0 stands for none. */
const LINE = 64;
const MIB = 2 ** 20;

/** What a block is for, and what to lower where it does not fit. */
export interface Purpose {
  what: string;
  remedy: string;
}

/** Arrays of 4-byte numbers in one block of the linear memory: where each begins. */
export interface Block<K extends string> {
  readonly at: Readonly<Record<K, Address>>;
  /** Gives the memory back. */
  free(): void;
}

/** What deals out blocks: a memory, or a count of what one would hold. */
export interface Allocator {
  allocate<K extends string>(counts: Readonly<Record<K, number>>, purpose: Purpose): Block<K>;
}

/** Sizes of named arrays in whole lines, bytes. */
function sizesOf<K extends string>(counts: Readonly<Record<K, number>>): [name: K, bytes: number][] {
  return (Object.keys(counts) as K[]).map((name) => [name, Math.ceil((counts[name] * 4) / LINE) * LINE]);
}

/** Counts what is asked for and holds nothing. */
export class MemoryCount implements Allocator {
  bytes = LINE;

  allocate<K extends string>(counts: Readonly<Record<K, number>>): Block<K> {
    const at = {} as Record<K, Address>;
    for (const [name, size] of sizesOf(counts)) {
      at[name] = this.bytes;
      this.bytes += size;
    }
    return { at, free: () => undefined };
  }
}

/** A WebAssembly memory that is dealt out in blocks: first fit, neighbours that are free become one. */
export class LinearMemory implements Allocator {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  /** Free stretches in order of address. */
  readonly #free = [{ at: LINE, bytes: PAGE - LINE }];

  /** Bytes of the whole memory. */
  get size(): number {
    return this.memory.buffer.byteLength;
  }

  /**
   * Room for named arrays, each of so many 4-byte numbers. Their content is what was there before.
   * @throws LabError where the memory ends, which names the purpose and the remedy.
   */
  allocate<K extends string>(counts: Readonly<Record<K, number>>, purpose: Purpose): Block<K> {
    const sizes = sizesOf(counts);
    const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
    const start = this.#take(bytes, purpose);
    let next = start;
    const at = {} as Record<K, Address>;
    for (const [name, size] of sizes) {
      at[name] = next;
      next += size;
    }
    let held = true;
    const free = () => {
      if (held) this.#give(start, bytes);
      held = false;
    };
    return { at, free };
  }

  /** `count` float32 numbers from `at`. The view ends with the next `allocate`. */
  reals(at: Address, count: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.memory.buffer, at, count);
  }

  /** `count` int32 numbers from `at`. The view ends with the next `allocate`. */
  ids(at: Address, count: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.memory.buffer, at, count);
  }

  #take(bytes: number, purpose: Purpose): Address {
    let index = this.#free.findIndex((stretch) => stretch.bytes >= bytes);
    if (index < 0) {
      this.#grow(bytes, purpose);
      index = this.#free.length - 1;
    }
    const stretch = this.#free[index]!;
    const { at } = stretch;
    stretch.at += bytes;
    stretch.bytes -= bytes;
    if (stretch.bytes === 0) this.#free.splice(index, 1);
    return at;
  }

  #give(at: Address, bytes: number): void {
    if (bytes === 0) return;
    let index = this.#free.findIndex((stretch) => stretch.at > at);
    if (index < 0) index = this.#free.length;
    this.#free.splice(index, 0, { at, bytes });
    this.#join(index);
    if (index > 0) this.#join(index - 1);
  }

  /** Makes one of a stretch and the next where they touch. */
  #join(index: number): void {
    const [first, second] = [this.#free[index]!, this.#free[index + 1]];
    if (!second || first.at + first.bytes !== second.at) return;
    first.bytes += second.bytes;
    this.#free.splice(index + 1, 1);
  }

  /** Grows until the last stretch holds `bytes`. */
  #grow(bytes: number, { what, remedy }: Purpose): void {
    const end = this.size;
    const last = this.#free.at(-1);
    const open = last && last.at + last.bytes === end ? last.bytes : 0;
    const pages = Math.ceil((bytes - open) / PAGE);
    const refuse = (why: string, cause?: unknown): never => {
      const need = `${what} needs ${Math.ceil(bytes / MIB)} MiB beside the ${Math.ceil((end - open) / MIB)} MiB in use`;
      throw new LabError(`${need}; ${why}`, { where: 'WebAssembly memory', remedy, cause });
    };
    if (end / PAGE + pages > MOST_PAGES) refuse('it ends at 4096 MiB');
    try {
      this.memory.grow(pages);
    } catch (error) {
      refuse('this machine gives no more', error);
    }
    this.#give(end, pages * PAGE);
    invariant(this.#free.at(-1)!.bytes >= bytes, 'the memory grew by what was asked for');
  }
}
