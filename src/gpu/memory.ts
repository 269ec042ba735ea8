import { LabError } from '../base/errors.ts';

/** Usages as WebGPU numbers them: memory is planned where there is no WebGPU to name them, too. */
export const USAGE = { COPY_SRC: 0x4, COPY_DST: 0x8, UNIFORM: 0x40, STORAGE: 0x80 } as const;

/**
 * Where buffers come from: a device's memory, or a count of what would be asked of one. What allocates takes this, so that
 * one code makes both the buffers and the plan of them.
 */
export interface Allocator {
  /** Bytes of all live buffers. */
  readonly bytes: number;
  /** A zero-filled buffer of at least `bytes`. */
  create(label: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer;
  /** A buffer for kernels that the host may also fill and read. */
  storage(label: string, elements: number): GPUBuffer;
  /** Queues an upload of what `make` gives; a mere count never asks for it. */
  fill(buffer: GPUBuffer, make: () => Uint32Array<ArrayBuffer> | Float32Array<ArrayBuffer>): void;
}

/** What a buffer of `bytes` takes: rounded up to 16; never empty, since a binding may not be. */
const sizeOf = (bytes: number): number => Math.max(16, Math.ceil(bytes / 16) * 16);

/**
 * Owns GPU buffers: every byte is counted, and `destroy` gives all back. Garbage collection does not free GPU memory
 * in time, so nothing here is left to it.
 */
export class Memory implements Allocator {
  readonly #device: GPUDevice;
  readonly #owner: string;
  readonly #buffers = new Set<GPUBuffer>();
  readonly #checks: Promise<void>[] = [];
  #bytes = 0;
  #closed = false;

  /** @param owner what the memory is for, in the words of an error message ("the policy"). */
  constructor(device: GPUDevice, owner: string) {
    this.#device = device;
    this.#owner = owner;
  }

  /** Bytes of all live buffers. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A zero-filled buffer of at least `bytes`.
   * Failure of the device to provide it shows at `settled`.
   * @throws LabError where the device's limits exclude the size, or all was given back: what is still being recorded when
   * its owner is destroyed must not allocate.
   */
  create(label: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    const size = sizeOf(bytes);
    const most = usage & USAGE.STORAGE ? Math.min(maxBufferSize, maxStorageBufferBindingSize) : maxBufferSize;
    if (size > most)
      throw new LabError(`${label} needs ${size} bytes; one buffer of this device holds ${most}`, {
        where: this.#owner,
        remedy: REMEDY,
      });
    if (this.#closed)
      throw new LabError(`${this.#owner} was destroyed`, { where: label, remedy: 'create a new one' });
    this.#device.pushErrorScope('validation');
    this.#device.pushErrorScope('out-of-memory');
    const buffer = this.#device.createBuffer({ label, size, usage });
    // Scopes pop innermost first.
    const scopes = [this.#device.popErrorScope(), this.#device.popErrorScope()];
    const check = Promise.all(scopes).then((errors) => {
      const [memory] = errors;
      const error = errors.find((e) => e !== null);
      if (error)
        throw new LabError(`the device could not give ${size} bytes for ${label}: ${error.message}`, {
          where: this.#owner,
          remedy: REMEDY,
          kind: memory ? 'out of memory' : null,
        });
    });
    // Without a handler here, a failure that is read later at `settled` would count as unhandled.
    check.catch(() => undefined);
    this.#checks.push(check);
    this.#buffers.add(buffer);
    this.#bytes += size;
    return buffer;
  }

  /** A buffer for kernels that the host may also fill and read. */
  storage(label: string, elements: number): GPUBuffer {
    const { STORAGE, COPY_DST, COPY_SRC } = USAGE;
    return this.create(label, elements * 4, STORAGE | COPY_DST | COPY_SRC);
  }

  fill(buffer: GPUBuffer, make: () => Uint32Array<ArrayBuffer> | Float32Array<ArrayBuffer>): void {
    this.#device.queue.writeBuffer(buffer, 0, make());
  }

  /** Resolves when the device has answered for every buffer asked so far. @throws LabError on the first refusal. */
  async settled(): Promise<void> {
    await Promise.all(this.#checks.splice(0));
  }

  /** Gives one buffer back. */
  free(buffer: GPUBuffer): void {
    if (!this.#buffers.delete(buffer)) return;
    this.#bytes -= buffer.size;
    buffer.destroy();
  }

  /** Gives every buffer back, for good. May be called twice. */
  destroy(): void {
    this.#closed = true;
    for (const buffer of [...this.#buffers]) this.free(buffer);
  }
}

const REMEDY = 'lower the capacity, the context, the number of rollouts or the width';

/** Counts what would be allocated, with no device. Its buffers only have a label and a size. */
export class MemoryCount implements Allocator {
  #bytes = 0;
  #largest = { name: 'nothing', bytes: 0 };

  get bytes(): number {
    return this.#bytes;
  }

  /** The largest single buffer so far. */
  get largest(): { name: string; bytes: number } {
    return this.#largest;
  }

  create(label: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const size = sizeOf(bytes);
    this.#bytes += size;
    if (size > this.#largest.bytes) this.#largest = { name: label, bytes: size };
    return { label, size, usage } as GPUBuffer;
  }

  storage(label: string, elements: number): GPUBuffer {
    return this.create(label, elements * 4, USAGE.STORAGE | USAGE.COPY_DST | USAGE.COPY_SRC);
  }

  fill(): void {}
}
