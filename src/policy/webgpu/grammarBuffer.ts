import type { Memory } from '../../gpu/memory.ts';
import type { Grammar, Truncation } from '../engine.ts';

/** The automaton on the device: class of every token [V], then `next` [S, C]. It grows with the largest grammar seen. */
export class GrammarBuffer {
  readonly #device: GPUDevice;
  readonly #memory: Memory;
  #buffer: GPUBuffer | null = null;

  constructor(device: GPUDevice, memory: Memory) {
    this.#device = device;
    this.#memory = memory;
  }

  /**
   * A buffer that has room for this grammar: the one of before, or a new one in its place.
   * @throws LabError where it exceeds the device's limits.
   */
  reserve({ classes, next }: Grammar): GPUBuffer {
    const words = classes.length + next.length;
    if (this.#buffer && this.#buffer.size >= 4 * words) return this.#buffer;
    if (this.#buffer) this.#memory.free(this.#buffer);
    this.#buffer = this.#memory.storage('grammar', 2 ** Math.ceil(Math.log2(words)));
    return this.#buffer;
  }

  /** Queues the upload into the buffer that `reserve` gave. */
  upload({ classes, next }: Grammar): void {
    const words = new Int32Array(classes.length + next.length);
    words.set(classes);
    words.set(next, classes.length);
    this.#device.queue.writeBuffer(this.#buffer!, 0, words);
  }
}

/** The kernels' struct of a turn; what only draws need is 0 where nothing is drawn. */
export function turnWords(
  { temperature, topP = 1, grammar }: Truncation,
  { stop, limit, seed } = { stop: 0, limit: 0, seed: 0 },
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array([stop, limit, seed, 0, 0, grammar?.classCount ?? 0]);
  new Float32Array(words.buffer).set([temperature, topP], 3);
  return words;
}
