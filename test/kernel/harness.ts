import { expect } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import type { Kernel, Tiling } from '../../src/gpu/matmul.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { recordPlan } from '../../src/gpu/plan.ts';
import { readBuffer } from '../../src/gpu/read.ts';

/** What a kernel binds: a uniform's words, or a storage buffer's content, which may be written. */
export type Slot = { uniform: number[] } | Float32Array | Uint32Array;

/** Row counts that are nothing, one, and no multiple of any tile. */
export const COUNTS = [0, 1, 3, 17, 64, 65, 200];

/** Runs a kernel once on fresh buffers and gives the storage buffers' content afterwards, in order of binding. */
export async function runKernel(
  device: LabDevice,
  kernel: Kernel,
  slots: readonly Slot[],
  sizes: Record<string, number>,
): Promise<Float32Array[]> {
  const memory = new Memory(device.gpu, 'the test');
  try {
    const buffers = slots.map((slot, i) => {
      const data = 'uniform' in slot ? new Uint32Array(slot.uniform) : slot;
      const buffer =
        'uniform' in slot
          ? memory.create(`uniform ${i}`, 48, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST)
          : memory.storage(`storage ${i}`, data.length);
      device.gpu.queue.writeBuffer(buffer, 0, data.slice());
      return buffer;
    });
    const plan = await recordPlan(device.gpu, device.pipelines, memory, [{ ...kernel, bindings: buffers }]);
    const encoder = device.gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    plan.encode(pass, sizes);
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
    return await Promise.all(
      slots.map(async (slot, i) => {
        if ('uniform' in slot || slot.length === 0) return new Float32Array();
        return new Float32Array(await readBuffer(device.gpu, buffers[i]!, slot.length * 4));
      }),
    );
  } finally {
    memory.destroy();
  }
}

/** N(0, 1)-like numbers that float32 holds exactly. */
export function reals(rng: Rng, count: number, scale = 1): Float32Array {
  return Float32Array.from(
    { length: count },
    () => scale * (rng.float() + rng.float() + rng.float() - 1.5) * 2,
  );
}

/** An output that shows any entry a kernel forgets to write. */
export const poison = (count: number): Float32Array => new Float32Array(count).fill(Number.NaN);

/** ‖out − ref‖ / ‖ref‖; 0 where both are empty or zero. */
export function relativeError(out: Float32Array, reference: Float64Array | number[]): number {
  expect(out.length).toBe(reference.length);
  let difference = 0;
  let size = 0;
  for (let i = 0; i < out.length; i++) {
    difference += (out[i]! - reference[i]!) ** 2;
    size += reference[i]! ** 2;
  }
  if (difference === 0) return 0;
  return Math.sqrt(difference / size);
}

/** Forward kernels agree with their twins to this, gradients to ten times it. */
export const FORWARD = 1e-5;
export const GRADIENT = 1e-4;

/** Tiles of both kinds of device, and the one whose lanes share loads, where this device can run it. */
export function tilings(device: LabDevice): Tiling[] {
  const gpu = { rows: 4, columns4: 2, workgroup: 64, subgroups: false };
  const software = { rows: 8, columns4: 4, workgroup: 16, subgroups: false };
  return [gpu, software, ...(device.report.quads ? [{ ...software, subgroups: true }] : [])];
}

/** Sequences of ragged lengths that fill n positions: their starts, exclusive ends and positions. */
export function ragged(rng: Rng, n: number): Record<'starts' | 'ends' | 'positions', Uint32Array> {
  const starts = new Uint32Array(n);
  const ends = new Uint32Array(n);
  for (let at = 0; at < n; ) {
    const end = Math.min(n, at + 1 + rng.int(23));
    starts.fill(at, at, end);
    ends.fill(end, at, end);
    at = end;
  }
  return { starts, ends, positions: starts.map((start, i) => i - start) };
}

/** Adds up the slices of a partial gradient. */
export function addSlices(
  partials: Float32Array,
  slices: number,
  stride: number,
  count: number,
): Float32Array {
  const sum = new Float32Array(count);
  for (let s = 0; s < slices; s++)
    for (let i = 0; i < count; i++) sum[i] = sum[i]! + partials[s * stride + i]!;
  return sum;
}

/** Rows of a slice, as the engine deals them. */
export const chunkOf = (n: number, slices: number): number => Math.ceil(n / slices / 4) * 4;

/** A named stream for one case of a test. */
export const caseRng = (name: string, ...parts: (string | number)[]): Rng =>
  new Rng([name, ...parts].join('/'));
