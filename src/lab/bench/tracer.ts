/** A buffer, or the part of one, that a dispatch binds. */
interface Bound {
  buffer: GPUBuffer;
  /** Bytes from the offset of the binding on. */
  bytes: number;
  /** What the host last wrote there, where the buffer is a uniform; as 32-bit words. */
  words: Uint32Array | null;
}

/** One dispatch as it was encoded. */
export interface Dispatch {
  /** Label of the pipeline. */
  kernel: string;
  bindings: Bound[];
  /** Encodes the same dispatch again. */
  encode(pass: GPUComputePassEncoder): void;
}

/** What a device was asked to do. */
export interface Trace {
  dispatches: Dispatch[];
  submits: number;
}

/**
 * Listens to a device: which dispatches and submits it is asked for, and how many bytes of buffers live on it. It does so
 * on the device object itself, so that it sees everything whoever asks; buffers made before are not counted.
 */
export class Tracer {
  readonly #device: GPUDevice;
  readonly #groups = new WeakMap<GPUBindGroup, GPUBindGroupEntry[]>();
  readonly #uniforms = new WeakMap<GPUBuffer, Uint8Array>();
  #trace: Trace | null = null;
  #bytes = 0;
  #peak = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
    const { queue, createBuffer, createBindGroup, createCommandEncoder } = device;
    const { submit, writeBuffer } = queue;
    device.createBuffer = (descriptor) => this.#watch(createBuffer.call(device, descriptor), descriptor);
    device.createBindGroup = (descriptor) => {
      const group = createBindGroup.call(device, descriptor);
      this.#groups.set(group, [...descriptor.entries]);
      return group;
    };
    device.createCommandEncoder = (descriptor) => {
      const encoder = createCommandEncoder.call(device, descriptor);
      if (this.#trace) this.#listen(encoder, this.#trace);
      return encoder;
    };
    queue.submit = (buffers) => {
      if (this.#trace) this.#trace.submits += 1;
      return submit.call(queue, buffers);
    };
    queue.writeBuffer = (...args: Parameters<GPUQueue['writeBuffer']>) => {
      this.#keep(...args);
      writeBuffer.apply(queue, args);
    };
  }

  /** Bytes of the buffers that live now, and the most that lived at once since `forgetPeak`. */
  get bytes(): number {
    return this.#bytes;
  }

  get peakBytes(): number {
    return this.#peak;
  }

  forgetPeak(): void {
    this.#peak = this.#bytes;
  }

  /** All that is encoded and submitted while `work` runs. */
  async trace(work: () => Promise<unknown>): Promise<Trace> {
    const trace: Trace = { dispatches: [], submits: 0 };
    this.#trace = trace;
    try {
      await work();
    } finally {
      this.#trace = null;
    }
    return trace;
  }

  /** Leaves the device as it was. Buffers that still live are no longer watched. */
  release(): void {
    const device: Partial<GPUDevice> = this.#device;
    delete device.createBuffer;
    delete device.createBindGroup;
    delete device.createCommandEncoder;
    const queue: Partial<GPUQueue> = this.#device.queue;
    delete queue.submit;
    delete queue.writeBuffer;
  }

  #watch(buffer: GPUBuffer, descriptor: GPUBufferDescriptor): GPUBuffer {
    const { destroy } = buffer;
    this.#bytes += descriptor.size;
    this.#peak = Math.max(this.#peak, this.#bytes);
    if (descriptor.usage & GPUBufferUsage.UNIFORM)
      this.#uniforms.set(buffer, new Uint8Array(descriptor.size));
    let alive = true;
    buffer.destroy = () => {
      if (alive) this.#bytes -= descriptor.size;
      alive = false;
      return destroy.call(buffer);
    };
    return buffer;
  }

  #keep(
    buffer: GPUBuffer,
    offset: number,
    data: AllowSharedBufferSource,
    dataOffset = 0,
    size: number | undefined = undefined,
  ): void {
    const kept = this.#uniforms.get(buffer);
    if (!kept) return;
    const view = ArrayBuffer.isView(data) ? data : new Uint8Array(data);
    // Offset and size count elements of a typed array, bytes of anything else.
    const unit = 'BYTES_PER_ELEMENT' in view ? Number(view.BYTES_PER_ELEMENT) : 1;
    const from = view.byteOffset + dataOffset * unit;
    const length = size === undefined ? view.byteLength - dataOffset * unit : size * unit;
    kept.set(new Uint8Array(view.buffer, from, length), offset);
  }

  #listen(encoder: GPUCommandEncoder, trace: Trace): void {
    const begin = encoder.beginComputePass;
    encoder.beginComputePass = (descriptor) => {
      const pass = begin.call(encoder, descriptor);
      const { setPipeline, dispatchWorkgroups } = pass;
      const setBindGroup: (index: number, group: GPUBindGroup | null | undefined) => undefined =
        pass.setBindGroup.bind(pass);
      let pipeline: GPUComputePipeline | null = null;
      let group: GPUBindGroup | null = null;
      pass.setPipeline = (chosen) => {
        pipeline = chosen;
        return setPipeline.call(pass, chosen);
      };
      pass.setBindGroup = (index: number, chosen: GPUBindGroup | null | undefined) => {
        group = chosen ?? null;
        return setBindGroup(index, chosen);
      };
      pass.dispatchWorkgroups = (x, y, z) => {
        if (pipeline && group) trace.dispatches.push(this.#dispatch(pipeline, group, [x, y ?? 1, z ?? 1]));
        return dispatchWorkgroups.call(pass, x, y, z);
      };
      return pass;
    };
  }

  #dispatch(
    pipeline: GPUComputePipeline,
    group: GPUBindGroup,
    [x, y, z]: [number, number, number],
  ): Dispatch {
    const bindings = (this.#groups.get(group) ?? []).flatMap(({ resource }): Bound[] => {
      const binding = 'buffer' in resource ? resource : { buffer: resource as GPUBuffer };
      const { buffer, offset = 0, size } = binding;
      const bytes = size ?? buffer.size - offset;
      const kept = this.#uniforms.get(buffer);
      const words = kept ? new Uint32Array(kept.slice(offset, offset + bytes).buffer) : null;
      return [{ buffer, bytes, words }];
    });
    return {
      kernel: pipeline.label,
      bindings,
      encode: (pass) => {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(x, y, z);
      },
    };
  }
}
