import type { LabDevice } from '../../src/gpu/device.ts';
import type { Kernel } from '../../src/gpu/matmul.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { Pipelines } from '../../src/gpu/pipelines.ts';
import { type Pass, type Plan, recordPlan, type Sizes } from '../../src/gpu/plan.ts';
import { readBuffer } from '../../src/gpu/read.ts';

/** What a kernel binds: a uniform's words, or a storage buffer's content, which may be written. */
export type Slot = { uniform: readonly number[] } | Float32Array | Uint32Array;

/** What runs kernels for a case. */
export interface KernelBench {
  /**
   * The storage buffers' content after a run on fresh buffers, in order of binding, each of its slot's length; whole
   * numbers come as their bits (`words` reads them). Empty for a uniform.
   */
  run(kernel: Kernel, slots: readonly Slot[], sizes: Sizes): Promise<Float32Array[]>;
}

/** Runs nothing and gives back what it was given: keeps the texts of the kernels that a case would run. */
export class Listener implements KernelBench {
  /** Names of kernels' files by their texts. */
  readonly texts = new Map<string, string>();

  async run({ label, code }: Kernel, slots: readonly Slot[]): Promise<Float32Array[]> {
    this.texts.set(code, label);
    return slots.map((slot) =>
      'uniform' in slot ? new Float32Array() : new Float32Array(slot.slice().buffer),
    );
  }
}

/** What a kernel did that no kernel may do. */
export class Misconduct extends Error {
  override name = 'Misconduct';
}

/** Elements behind the data of each storage buffer, at least a row of anything that is tested. */
const GUARD = 640;
/** How a run differs from the other one of the same kernel, where nothing that it gives may differ. */
interface Surroundings {
  /** What stands behind reals and whole numbers: words that as a bound or an index show, but do not hang. */
  real: number;
  whole: number;
  /** Workgroups in x of a grid of so many in all: a long grid folds into y, so any width must do. */
  fold(groups: number): number;
}

const SURROUNDINGS: readonly [Surroundings, Surroundings] = [
  // NaN; an exact grid, so that a thread left out shows.
  { real: 0x7fc00000, whole: 1, fold: (g) => (g % 3 === 0 ? 3 : g % 2 === 0 && g > 2 ? 2 : 1) },
  // −12345.67; up to two workgroups too many, so that a thread too many shows.
  { real: 0xc640e6ae, whole: 0x1357, fold: (g) => Math.min(g, 3) },
];

/**
 * Runs kernels on fresh buffers. Every run is made twice and must give the same bits, though the grid is folded another
 * way and other words stand behind the data of every storage buffer; those words must not change.
 */
export class Bench implements KernelBench {
  readonly device: LabDevice;
  /** Labels of kernels run so far: the names of their files. */
  readonly labels = new Set<string>();
  readonly #pipelines: Pick<Pipelines, 'get'>;

  /** @param kept texts whose pipelines the device keeps; others are compiled for this bench alone. All, if absent. */
  constructor(device: LabDevice, kept?: ReadonlySet<string>) {
    this.device = device;
    const own = new Pipelines(device.gpu);
    this.#pipelines = {
      get: (label, code) => (!kept || kept.has(code) ? device.pipelines : own).get(label, code),
    };
  }

  /**
   * See `KernelBench`.
   * @throws Misconduct where the two runs differ or something behind the data was written.
   */
  async run(kernel: Kernel, slots: readonly Slot[], sizes: Sizes): Promise<Float32Array[]> {
    this.labels.add(kernel.label);
    const [first, second] = SURROUNDINGS;
    const out = await this.#once(kernel, slots, sizes, first);
    const again = await this.#once(kernel, slots, sizes, second);
    return slots.map((slot, i) => {
      if ('uniform' in slot) return new Float32Array();
      for (const [words, surroundings] of [
        [out[i]!, first],
        [again[i]!, second],
      ] as const) {
        const expected = guarded(slot, surroundings);
        const at = words.findIndex((word, j) => j >= slot.length && word !== expected[j]);
        if (at >= 0)
          throw new Misconduct(
            `${kernel.label} writes ${at - slot.length} elements behind the end of binding ${i}`,
          );
      }
      const content = out[i]!.subarray(0, slot.length);
      const at = content.findIndex((word, j) => word !== again[i]![j]);
      if (at >= 0)
        throw new Misconduct(
          `${kernel.label} gives other bits at element ${at} of binding ${i} when run again, on another grid and with other words behind the data`,
        );
      return new Float32Array(content.slice().buffer);
    });
  }

  /** Words of each slot after a run, guards included. */
  async #once(
    kernel: Kernel,
    slots: readonly Slot[],
    sizes: Sizes,
    around: Surroundings,
  ): Promise<Uint32Array[]> {
    const { gpu } = this.device;
    const memory = new Memory(gpu, 'the test');
    try {
      const buffers = slots.map((slot, i) => {
        const data = 'uniform' in slot ? new Uint32Array(slot.uniform) : guarded(slot, around);
        const buffer =
          'uniform' in slot
            ? memory.create(`uniform ${i}`, 48, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST)
            : memory.storage(`storage ${i}`, data.length);
        gpu.queue.writeBuffer(buffer, 0, data);
        return buffer;
      });
      const total = slots.reduce((sum, slot) => sum + ('uniform' in slot ? 0 : padded(slot)), 0);
      const all = memory.storage('everything', total);
      const plan = await recordPlan(gpu, this.#pipelines, memory, [{ ...kernel, bindings: buffers }]);
      const encoder = gpu.createCommandEncoder();
      encodeFolded(encoder, plan, sizes, around);
      let at = 0;
      const places = slots.map((slot, i) => {
        const [from, length] = [at, 'uniform' in slot ? 0 : padded(slot)];
        if (length > 0) encoder.copyBufferToBuffer(buffers[i]!, 0, all, from * 4, length * 4);
        at += length;
        return [from, at] as const;
      });
      gpu.queue.submit([encoder.finish()]);
      const words = new Uint32Array(await readBuffer(gpu, all, total * 4));
      return places.map(([from, to]) => words.subarray(from, to));
    } finally {
      memory.destroy();
    }
  }
}

/** Elements of a storage buffer with its guard. */
const padded = (slot: Float32Array | Uint32Array): number => Math.ceil((slot.length + GUARD) / 4) * 4;

/** The bits of a slot and of its guard. */
function guarded(slot: Float32Array | Uint32Array, { real, whole }: Surroundings): Uint32Array<ArrayBuffer> {
  const all = new Uint32Array(padded(slot)).fill(slot instanceof Float32Array ? real : whole);
  all.set(new Uint32Array(slot.buffer, slot.byteOffset, slot.length));
  return all;
}

function encodeFolded(encoder: GPUCommandEncoder, plan: Plan, sizes: Sizes, { fold }: Surroundings): void {
  const pass = encoder.beginComputePass();
  const folding: Pass = {
    setPipeline: (pipeline) => pass.setPipeline(pipeline),
    setBindGroup: (index: number, group: GPUBindGroup | null | undefined) => pass.setBindGroup(index, group),
    dispatchWorkgroups: (x, y = 1) => {
      const width = fold(x * y);
      pass.dispatchWorkgroups(width, Math.ceil((x * y) / width));
    },
  };
  plan.encode(folding, sizes);
  pass.end();
}
