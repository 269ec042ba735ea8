import type { Decoder, NewRows } from '../cpuSampler.ts';
import type { PolicyShape } from '../engine.ts';
import { allocateCache, allocateScratch, append, type Cache, logitsOf, ROWS } from './decode.ts';
import type { Machine } from './machine.ts';

/** Decodes in WebAssembly. */
export class WasmDecoder implements Decoder {
  readonly shape: PolicyShape;
  readonly rows = ROWS;
  readonly #machine: () => Machine;
  readonly #scratch: ReturnType<typeof allocateScratch>;
  /** One a layer. */
  readonly #caches: Cache[] = [];

  /**
   * @param machine gives the policy; throws once the engine is destroyed.
   * @throws LabError where the memory does not hold the caches.
   */
  constructor(machine: () => Machine, rollouts: number) {
    this.#machine = machine;
    this.shape = machine().shape;
    this.#scratch = allocateScratch(machine(), rollouts);
    try {
      for (let l = 0; l < this.shape.layers; l++) this.#caches.push(allocateCache(machine(), rollouts));
    } catch (error) {
      this.free();
      throw error;
    }
  }

  append(rows: NewRows): void {
    append(this.#machine(), this.#scratch.at, this.#caches, rows);
  }

  logits(
    rollouts: readonly number[],
    visit: (rollout: number, logits: Float32Array, from: number) => void,
  ): void {
    logitsOf(this.#machine(), this.#scratch.at, rollouts, visit);
  }

  free(): void {
    for (const cache of this.#caches) cache.free();
    this.#scratch.free();
  }
}
