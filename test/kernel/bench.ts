import type { LabDevice } from '../../src/gpu/device.ts';
import type { Kernel } from '../../src/gpu/matmul.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { Pipelines } from '../../src/gpu/pipelines.ts';
import { type Pass, type Plan, recordPlan, type Sizes } from '../../src/gpu/plan.ts';
import { readBuffer } from '../../src/gpu/read.ts';

/** What a kernel binds: a uniform's words, or a storage buffer's content, which may be written. */
export type Slot = { uniform: readonly number[] } | Float32Array | Uint32Array;

/** What a kernel did that no kernel may do. */
export class Misconduct extends Error {
  override name = 'Misconduct';
}

/** Elements behind the data of each storage buffer, at least a row of anything that is tested. */
const GUARD = 640;
/** What stands there: NaN for numbers, and for whole numbers one that as an index or a bound shows but does not hang. */
const GUARD_WORD = 0x1357;
/** Most workgroups in x. A grid of any width must do, since a long one folds; here even short ones fold. */
const FOLD = 3;

/**
 * Runs kernels on fresh buffers. Every run is made twice and must give the same bits; behind every storage buffer's data
 * stand words that must not change and whose values must not matter.
 */
export class Bench {
  readonly device: LabDevice;
  /** Texts run so far. */
  readonly codes = new Set<string>();
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
   * The storage buffers' content after one run, in order of binding, each of its slot's length and type (whole numbers
   * as their bits: `words` reads them); empty for a uniform.
   * @throws Misconduct where a second run gives other bits or something behind the data was written.
   */
  async run(kernel: Kernel, slots: readonly Slot[], sizes: Sizes): Promise<Float32Array[]> {
    this.codes.add(kernel.code);
    this.labels.add(kernel.label);
    const [first, second] = [await this.#once(kernel, slots, sizes), await this.#once(kernel, slots, sizes)];
    const at = first.findIndex((word, i) => word !== second[i]);
    if (at >= 0) throw new Misconduct(`${kernel.label} gives other bits when run again (word ${at})`);
    let from = 0;
    return slots.map((slot, i) => {
      if ('uniform' in slot) return new Float32Array();
      const content = first.subarray(from, from + slot.length);
      const behind = first.subarray(from + slot.length, from + slot.length + GUARD);
      from += padded(slot);
      const wrong = behind.findIndex((word, j) => word !== guarded(slot)[slot.length + j]);
      if (wrong >= 0)
        throw new Misconduct(`${kernel.label} writes ${wrong} elements behind the end of binding ${i}`);
      return new Float32Array(content.slice().buffer);
    });
  }

  /** Words of all storage buffers one after another, guards included. */
  async #once(kernel: Kernel, slots: readonly Slot[], sizes: Sizes): Promise<Uint32Array> {
    const { gpu } = this.device;
    const memory = new Memory(gpu, 'the test');
    try {
      const buffers = slots.map((slot, i) => {
        const data = 'uniform' in slot ? new Uint32Array(slot.uniform) : guarded(slot);
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
      encodeFolded(encoder, plan, sizes);
      let at = 0;
      for (const [i, slot] of slots.entries()) {
        if ('uniform' in slot) continue;
        encoder.copyBufferToBuffer(buffers[i]!, 0, all, at * 4, padded(slot) * 4);
        at += padded(slot);
      }
      gpu.queue.submit([encoder.finish()]);
      return new Uint32Array(await readBuffer(gpu, all, total * 4));
    } finally {
      memory.destroy();
    }
  }
}

/** Elements of a storage buffer with its guard. */
const padded = (slot: Float32Array | Uint32Array): number => Math.ceil((slot.length + GUARD) / 4) * 4;

/** The bits of a slot and of its guard. */
function guarded(slot: Float32Array | Uint32Array): Uint32Array<ArrayBuffer> {
  const isReal = slot instanceof Float32Array;
  const all = new Uint32Array(padded(slot)).fill(isReal ? 0x7fc00000 : GUARD_WORD);
  all.set(new Uint32Array(slot.buffer, slot.byteOffset, slot.length));
  return all;
}

function encodeFolded(encoder: GPUCommandEncoder, plan: Plan, sizes: Sizes): void {
  const pass = encoder.beginComputePass();
  const folding: Pass = {
    setPipeline: (pipeline) => pass.setPipeline(pipeline),
    setBindGroup: (index: number, group: GPUBindGroup | null | undefined) => pass.setBindGroup(index, group),
    dispatchWorkgroups: (x, y = 1) => {
      const width = Math.min(x * y, FOLD);
      pass.dispatchWorkgroups(width, Math.ceil((x * y) / width));
    },
  };
  plan.encode(folding, sizes);
  pass.end();
}
