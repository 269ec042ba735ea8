import type { Allocator } from '../../gpu/memory.ts';
import type { PolicyShape } from '../engine.ts';
import { layout, type Tensor } from '../layout.ts';

/**
 * Slices keep a device busy where weights are small: the gradient of one is few tiles. Large ones are tiles enough, and
 * every slice costs memory and a pass over it; so this many bytes are spent on partial gradients at most, but for one slice.
 */
const PARTIALS = 1 << 24;
const MOST_SLICES = 8;

/** The flat parameter buffer, its gradient (whole and in slices) and AdamW's moments, in the layout of `layout`. */
export class ParameterBuffers {
  readonly tensors: readonly Tensor[];
  readonly count: number;
  /** Partial gradients over rows: `slices` buffers' worth in one, each `count` elements. */
  readonly slices: number;
  readonly parameters: GPUBuffer;
  readonly moment1: GPUBuffer;
  readonly moment2: GPUBuffer;
  readonly partials: GPUBuffer;
  readonly gradient: GPUBuffer;
  /** For each block of 64 elements 1 where weight decay applies: matrices, not gains. */
  readonly decays: GPUBuffer;
  readonly #byName: ReadonlyMap<string, Tensor>;

  constructor(memory: Allocator, shape: PolicyShape) {
    const { tensors, count } = layout(shape);
    this.tensors = tensors;
    this.count = count;
    this.#byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
    this.slices = Math.max(1, Math.min(MOST_SLICES, Math.floor(PARTIALS / (4 * count))));
    this.parameters = memory.storage('parameters', count);
    this.moment1 = memory.storage('first moments', count);
    this.moment2 = memory.storage('second moments', count);
    this.gradient = memory.storage('gradient', count);
    this.partials = memory.storage('partial gradients', count * this.slices);
    this.decays = memory.storage('decays', count / 64);
    memory.fill(this.decays, () => markDecays(tensors, count));
  }

  /** The weights of a tensor, from element `from` of it. */
  weights(name: string, from = 0): GPUBufferBinding {
    const { offset, size } = this.#tensor(name);
    return { buffer: this.parameters, offset: (offset + from) * 4, size: (size - from) * 4 };
  }

  /** A tensor's place in the partial gradients, from element `from` of it: slice s begins `count`·s elements on. */
  slicedGradient(name: string, from = 0): GPUBufferBinding {
    const { offset, size } = this.#tensor(name);
    return {
      buffer: this.partials,
      offset: (offset + from) * 4,
      size: (this.count * (this.slices - 1) + size - from) * 4,
    };
  }

  #tensor(name: string): Tensor {
    const tensor = this.#byName.get(name);
    if (!tensor) throw new Error(`Broken assumption: the layout has a tensor ${name}`);
    return tensor;
  }
}

function markDecays(tensors: readonly Tensor[], count: number): Uint32Array<ArrayBuffer> {
  const decays = new Uint32Array(count / 64);
  for (const { offset, size, shape } of tensors)
    if (shape.length > 1) decays.fill(1, offset / 64, Math.ceil((offset + size) / 64));
  return decays;
}
