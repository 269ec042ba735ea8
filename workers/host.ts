/** What one pull brings: the next items in order, and whether they were the last. */
export interface Batch<T> {
  items: T[];
  done: boolean;
}

/** Milliseconds after which a batch is sent: long enough to be worth a message, short enough to feel live. */
const BATCH_MILLISECONDS = 24;
/** Items after which a batch is sent, so that receiving one never takes a frame. */
const BATCH_ITEMS = 64;

/**
 * Streams that another thread pulls: open → next … next → close. Nothing runs between two pulls, so that a caller who
 * does not pull pauses the work and one who closes stops it (the generator's `finally` blocks run).
 */
export class StreamHost {
  readonly #open = new Map<number, AsyncIterator<unknown>>();
  /** Errors of streams that broke after some items, which are told first. */
  readonly #broken = new Map<number, unknown>();
  #count = 0;

  /** @returns the number under which the stream is pulled. */
  open(stream: AsyncIterable<unknown>): number {
    this.#count += 1;
    this.#open.set(this.#count, stream[Symbol.asyncIterator]());
    return this.#count;
  }

  /** The next items. A closed or unknown stream is at its end. @throws what the stream throws, after all its items. */
  async next(id: number): Promise<Batch<unknown>> {
    if (this.#broken.has(id)) {
      const error = this.#broken.get(id);
      this.#broken.delete(id);
      throw error;
    }
    const items: unknown[] = [];
    const iterator = this.#open.get(id);
    const start = performance.now();
    while (iterator && items.length < BATCH_ITEMS && performance.now() - start < BATCH_MILLISECONDS) {
      try {
        const { value, done } = await iterator.next();
        if (done) {
          this.#open.delete(id);
          return { items, done: true };
        }
        items.push(value);
      } catch (error) {
        this.#open.delete(id);
        if (items.length === 0) throw error;
        this.#broken.set(id, error);
        break;
      }
    }
    return { items, done: iterator === undefined };
  }

  async close(id: number): Promise<void> {
    const iterator = this.#open.get(id);
    this.#open.delete(id);
    this.#broken.delete(id);
    await iterator?.return?.();
  }
}

/** Memory blocks in `value` that nobody else holds, so that they can be moved instead of copied: whole typed arrays. */
export function ownedBuffers(value: unknown, found = new Set<ArrayBuffer>()): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength)
      found.add(value.buffer);
  } else if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') ownedBuffers(item, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) if (typeof item === 'object') ownedBuffers(item, found);
  }
  return [...found];
}
