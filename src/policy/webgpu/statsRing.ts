import { LabError } from '../../base/errors.ts';
import { lostWhileReading } from '../../gpu/failure.ts';
import type { Allocator } from '../../gpu/memory.ts';
import type { StepStats } from '../engine.ts';

/** Steps whose summaries the device holds before they are copied out. */
const SLOTS = 64;
/** Bytes of one summary: loss, gradient norm, clip scale, 0. */
const BYTES = 16;

/** What the host knows of a step before its summary arrives. */
export type StepRecord = Pick<StepStats, 'step' | 'trained' | 'tokens'>;

/** Room for the summaries of the steps between two readbacks. */
export const createRing = (memory: Allocator): GPUBuffer =>
  memory.storage('step summaries', (SLOTS * BYTES) / 4);

/** Collects the summaries of steps on the device, so that a step never waits for a readback (5–15 ms, or 100). */
export class StatsRing {
  readonly buffer: GPUBuffer;
  readonly #device: GPUDevice;
  #waiting: StepRecord[] = [];
  #reads: Promise<StepStats[]>[] = [];

  /** @param buffer made by `createRing`. */
  constructor(device: GPUDevice, buffer: GPUBuffer) {
    this.#device = device;
    this.buffer = buffer;
  }

  /** The slot for the next step. A full ring is copied out first, without waiting. */
  claim(record: StepRecord): number {
    if (this.#waiting.length === SLOTS) this.#copyOut();
    return this.#waiting.push(record) - 1;
  }

  /**
   * Stats of all steps since the last call, oldest first.
   * @throws LabError where a loss is no number: training diverged, or the device ran out of memory in silence.
   */
  async take(): Promise<StepStats[]> {
    this.#copyOut();
    const stats = (await Promise.all(this.#reads.splice(0))).flat();
    const bad = stats.find(({ loss, gradientNorm }) => !Number.isFinite(loss + gradientNorm));
    if (bad)
      throw new LabError(`loss ${bad.loss} and gradient norm ${bad.gradientNorm}: training diverged`, {
        where: `step ${bad.step}`,
        remedy: 'load the last checkpoint and lower the learning rate',
        kind: 'not a number',
      });
    return stats;
  }

  /** Forgets everything that was not taken. */
  clear(): void {
    this.#waiting = [];
    this.#reads = [];
  }

  #copyOut(): void {
    const records = this.#waiting;
    this.#waiting = [];
    if (records.length === 0) return;
    const bytes = records.length * BYTES;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const staging = this.#device.createBuffer({ size: bytes, usage });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffer, 0, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    const read = staging
      .mapAsync(GPUMapMode.READ)
      .then(() => {
        const values = new Float32Array(staging.getMappedRange());
        return records.map((record, i) => ({
          ...record,
          loss: values[4 * i]!,
          gradientNorm: values[4 * i + 1]!,
        }));
      })
      .catch((cause) => {
        throw lostWhileReading(cause, this.#device);
      })
      .finally(() => staging.destroy());
    // A failure shows at `take`; until then it must not count as unhandled.
    read.catch(() => undefined);
    this.#reads.push(read);
  }
}
