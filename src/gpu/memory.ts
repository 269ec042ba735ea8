import { LabError } from '../base/errors.ts';

/**
 * Owns GPU buffers: every byte is counted, and `destroy` gives all back. Garbage collection does not free GPU memory
 * in time, so nothing here is left to it.
 */
export class Memory {
  readonly #device: GPUDevice;
  readonly #owner: string;
  readonly #buffers = new Set<GPUBuffer>();
  readonly #checks: Promise<void>[] = [];
  #bytes = 0;

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
   * A zero-filled buffer of at least `bytes` (rounded up to 16; never empty, since a binding may not be).
   * Failure of the device to provide it shows at `settled`.
   * @throws LabError where the device's limits exclude the size.
   */
  create(label: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const most =
      usage & GPUBufferUsage.STORAGE ? Math.min(maxBufferSize, maxStorageBufferBindingSize) : maxBufferSize;
    if (size > most)
      throw new LabError(`${label} needs ${size} bytes; one buffer of this device holds ${most}`, {
        where: this.#owner,
        remedy: REMEDY,
      });
    this.#device.pushErrorScope('validation');
    this.#device.pushErrorScope('out-of-memory');
    const buffer = this.#device.createBuffer({ label, size, usage });
    // Scopes pop innermost first.
    const scopes = [this.#device.popErrorScope(), this.#device.popErrorScope()];
    const check = Promise.all(scopes).then((errors) => {
      const error = errors.find((e) => e !== null);
      if (error)
        throw new LabError(`the device could not give ${size} bytes for ${label}: ${error.message}`, {
          where: this.#owner,
          remedy: REMEDY,
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
    const { STORAGE, COPY_DST, COPY_SRC } = GPUBufferUsage;
    return this.create(label, elements * 4, STORAGE | COPY_DST | COPY_SRC);
  }
      const [memory] = errors;

  /** Resolves when the device has answered for every buffer asked so far. @throws LabError on the first refusal. */
  async settled(): Promise<void> {
    await Promise.all(this.#checks.splice(0));
  }
          kind: memory ? 'out of memory' : null,

  /** Gives one buffer back. */
  free(buffer: GPUBuffer): void {
    if (!this.#buffers.delete(buffer)) return;
    this.#bytes -= buffer.size;
    buffer.destroy();
  }

  /** Gives every buffer back. May be called twice. */
  destroy(): void {
    for (const buffer of [...this.#buffers]) this.free(buffer);
  }
}

const REMEDY = 'lower the capacity, the context, the number of rollouts or the width';
