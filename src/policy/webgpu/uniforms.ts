import { type Allocator, USAGE } from '../../gpu/memory.ts';
import type { StepOptions } from '../engine.ts';
import type { BatchSizes } from './batchBuffers.ts';

/** Byte offsets of the three structs; 256 is the binding alignment that every device grants. */
const POSITIONS = 0;
const TRAINED = 256;
const STEP = 512;
/** Largest finite float32: what an absent clip becomes. */
const LARGEST = 3.4028234663852886e38;

/** The small numbers of a step: sizes for the kernels and the optimiser's coefficients, one upload a step. */
export class StepUniforms {
  readonly #buffer: GPUBuffer;
  readonly #slices: number;
  readonly #words = new Uint32Array(192);
  readonly #floats = new Float32Array(this.#words.buffer);

  constructor(memory: Allocator, slices: number) {
    this.#slices = slices;
    this.#buffer = memory.create('step', this.#words.byteLength, USAGE.UNIFORM | USAGE.COPY_DST);
  }

  /** Dims of all positions. */
  get positions(): GPUBufferBinding {
    return { buffer: this.#buffer, offset: POSITIONS, size: 16 };
  }

  /** Dims of the trained rows. */
  get trained(): GPUBufferBinding {
    return { buffer: this.#buffer, offset: TRAINED, size: 16 };
  }

  /** The optimiser's numbers. */
  get step(): GPUBufferBinding {
    return { buffer: this.#buffer, offset: STEP, size: 48 };
  }

  /** Writes the sizes; rows are dealt to slices in runs of a multiple of 4. */
  setSizes({ n, trained, distinct }: BatchSizes): void {
    const chunk = (count: number) => Math.ceil(count / this.#slices / 4) * 4;
    this.#words.set([n, chunk(n), distinct], POSITIONS / 4);
    this.#words.set([trained, chunk(trained)], TRAINED / 4);
  }

  /**
   * Writes the optimiser's numbers for step `step` (1 for the first); its summary goes to `slot` of the ring.
   * @param held whether micro-batches of the same step came before, whose gradient and loss are to be added to.
   */
  setStep(options: StepOptions, step: number, slot: number, held: boolean): void {
    const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
    const numbers = [
      learningRate,
      beta1,
      beta2,
      // 1 − β in float64: in float32 1 − 0.999 is off by 5e-5.
      1 - beta1,
      1 - beta2,
      epsilon,
      weightDecay,
      Math.min(clip, LARGEST),
      1 - beta1 ** step,
      1 - beta2 ** step,
    ];
    this.#floats.set(numbers, STEP / 4);
    this.#words.set([slot, Number(held)], STEP / 4 + numbers.length);
  }

  /** Queues the upload. */
  upload(queue: GPUQueue): void {
    queue.writeBuffer(this.#buffer, 0, this.#words);
  }
}
