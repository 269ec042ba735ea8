import type { Allocator } from '../../gpu/memory.ts';
import { totalWeight } from '../batch.ts';
import type { PackedBatch } from '../engine.ts';

/** The arrays of a batch as kernels read them: 32-bit fields of one buffer. */
const FIELDS = [
  'tokens',
  'starts',
  'ends',
  'positions',
  'order',
  'distinct',
  'bounds',
  'rows',
  'places',
  'targets',
  'shares',
] as const;

export type Field = (typeof FIELDS)[number];

/** Counts that a batch gives to kernels and dispatches: N positions, R trained rows, U distinct tokens. */
export interface BatchSizes {
  [name: string]: number;
  n: number;
  trained: number;
  distinct: number;
}

/**
 * The batch on the device. One upload a step carries all arrays; sequences' ends, the list of trained rows and the
 * positions sorted by token are derived on the host, where they cost little, so that kernels need no atomics and
 * untrained rows cost nothing.
 */
export class BatchBuffers {
  readonly #buffer: GPUBuffer;
  readonly #stride: number;
  readonly #vocab: number;
  /** The same on the host, made with the first batch: a plan of memory never sees one. */
  #host = new Uint32Array();
  #counts = new Uint32Array();

  /** @param capacity most positions of a batch. @param vocab ids are below it. */
  constructor(memory: Allocator, capacity: number, vocab: number) {
    this.#vocab = vocab;
    // `bounds` has one entry more than positions; offsets are multiples of 64 entries = 256 bytes.
    this.#stride = Math.ceil((capacity + 1) / 64) * 64;
    this.#buffer = memory.storage('batch', this.#stride * FIELDS.length);
  }

  /** The binding of one array. */
  field(name: Field): GPUBufferBinding {
    return { buffer: this.#buffer, offset: this.#offset(name), size: this.#stride * 4 };
  }

  /**
   * Uploads a checked batch. @param everyRow list all rows as trained, whatever their weights (for logits).
   * @param total Σw of the step that the batch is part of; its own where nothing is said. `shares` are w / Σw, in
   * float64 until they are stored.
   */
  upload(queue: GPUQueue, batch: PackedBatch, everyRow = false, total = totalWeight(batch)): BatchSizes {
    const n = batch.tokens.length;
    if (this.#host.length === 0) {
      this.#host = new Uint32Array(this.#stride * FIELDS.length);
      this.#counts = new Uint32Array(this.#vocab + 1);
    }
    this.#view('tokens').set(batch.tokens);
    this.#view('starts').set(batch.starts);
    this.#deriveEnds(batch.starts);
    const trained = this.#listRows(batch, everyRow, total);
    const distinct = this.#sortByToken(batch.tokens);
    queue.writeBuffer(this.#buffer, 0, this.#host);
    return { n, trained, distinct };
  }

  #deriveEnds(starts: Int32Array): void {
    const ends = this.#view('ends');
    const positions = this.#view('positions');
    let end = starts.length;
    for (let i = starts.length - 1; i >= 0; i--) {
      ends[i] = end;
      positions[i] = i - starts[i]!;
      if (starts[i] === i) end = i;
    }
  }

  #listRows({ targets, weights }: PackedBatch, everyRow: boolean, total: number): number {
    const rows = this.#view('rows');
    const rowTargets = this.#view('targets');
    const places = this.#view('places').fill(0);
    const shares = new Float32Array(this.#host.buffer, this.#offset('shares'), this.#stride);
    let count = 0;
    for (let i = 0; i < weights.length; i++) {
      if (weights[i] === 0 && !everyRow) continue;
      rows[count] = i;
      places[i] = count + 1;
      rowTargets[count] = targets[i]!;
      shares[count++] = weights[i]! / total;
    }
    return count;
  }

  /** Counting sort of positions by token, stable, so each token's positions stay in ascending order. */
  #sortByToken(tokens: Int32Array): number {
    const counts = this.#counts.fill(0);
    for (const token of tokens) counts[token + 1] = counts[token + 1]! + 1;
    const distinct = this.#view('distinct');
    const bounds = this.#view('bounds');
    const order = this.#view('order');
    let found = 0;
    bounds[0] = 0;
    for (let token = 0; token + 1 < counts.length; token++) {
      const from = counts[token]!;
      const count = counts[token + 1]!;
      if (count > 0) {
        distinct[found++] = token;
        bounds[found] = from + count;
      }
      counts[token + 1] = from + count;
    }
    for (let i = 0; i < tokens.length; i++) {
      const at = counts[tokens[i]!]!;
      counts[tokens[i]!] = at + 1;
      order[at] = i;
    }
    return found;
  }

  #offset(name: Field): number {
    return FIELDS.indexOf(name) * this.#stride * 4;
  }

  #view(name: Field): Uint32Array {
    const from = this.#offset(name) / 4;
    return this.#host.subarray(from, from + this.#stride);
  }
}
