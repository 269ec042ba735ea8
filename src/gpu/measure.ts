import type { LabDevice } from './device.ts';
import { matmulNt, tilingFor } from './matmul.ts';
import { Memory } from './memory.ts';
import { recordPlan } from './plan.ts';
import { readBuffer } from './read.ts';

/**
 * The device's matrix rate with the lab's own product: floating-point operations a second of C = A·Bᵀ at
 * [size, size]·[size, size]ᵀ, 2·size³ operations each, the best of `rounds` rounds of `repeats` dispatches.
 * @param clock milliseconds.
 */
export async function measureMatrixRate(
  device: LabDevice,
  clock: () => number,
  { size = 512, repeats = 8, rounds = 4 } = {},
): Promise<number> {
  const memory = new Memory(device.gpu, 'the matrix benchmark');
  try {
    const dims = memory.create('dims', 16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    const a = memory.storage('A', size * size);
    const b = memory.storage('B', size * size);
    const c = memory.storage('C', size * size);
    const filled = Float32Array.from({ length: size * size }, (_, i) => ((i * 31) % 17) / 17 - 0.5);
    device.gpu.queue.writeBuffer(dims, 0, new Uint32Array([size, size, 0, 0]));
    device.gpu.queue.writeBuffer(a, 0, filled);
    device.gpu.queue.writeBuffer(b, 0, filled);
    const kernel = matmulNt({ m: size, k: size }, tilingFor(device.report), 'plain', 'n');
    const plan = await recordPlan(device.gpu, device.pipelines, memory, [
      { ...kernel, bindings: [dims, a, b, c] },
    ]);
    await memory.settled();
    let best = 0;
    // The first round warms up: the driver compiles at the first dispatch.
    for (let round = 0; round <= rounds; round++) {
      const began = clock();
      const encoder = device.gpu.createCommandEncoder();
      const pass = encoder.beginComputePass();
      for (let i = 0; i < repeats; i++) plan.encode(pass, { n: size });
      pass.end();
      device.gpu.queue.submit([encoder.finish()]);
      await readBuffer(device.gpu, c, 16);
      if (round > 0) best = Math.max(best, (2 * size ** 3 * repeats) / ((clock() - began) / 1000));
    }
    return best;
  } finally {
    memory.destroy();
  }
}

/** Copies vec4 by vec4; a thread moves four of them, a grid apart, so that neighbours stay neighbours. */
const COPY = `
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> b: array<vec4f>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) grid: vec3u) {
  let stride = grid.x * 64u;
  let at = id.x;
  b[at] = a[at];
  b[at + stride] = a[at + stride];
  b[at + 2u * stride] = a[at + 2u * stride];
  b[at + 3u * stride] = a[at + 3u * stride];
}`;

/**
 * The device's copy rate: bytes read and bytes written a second, together, by a kernel or by the driver's own copy,
 * whichever is faster, the best of `rounds` rounds of `repeats` copies of `bytes` (a multiple of 4096).
 * @param clock milliseconds.
 */
export async function measureCopyRate(
  device: LabDevice,
  clock: () => number,
  { bytes = 1 << 22, repeats = 8, rounds = 4 } = {},
): Promise<number> {
  const memory = new Memory(device.gpu, 'the copy benchmark');
  try {
    const a = memory.storage('A', bytes / 4);
    const b = memory.storage('B', bytes / 4);
    const threads = () => bytes / 64;
    const plan = await recordPlan(device.gpu, device.pipelines, memory, [
      { label: 'copy', code: COPY, threads, bindings: [a, b] },
    ]);
    await memory.settled();
    const byKernel = (encoder: GPUCommandEncoder) => {
      const pass = encoder.beginComputePass();
      for (let i = 0; i < repeats; i++) plan.encode(pass, {});
      pass.end();
    };
    const byDriver = (encoder: GPUCommandEncoder) => {
      for (let i = 0; i < repeats; i++) encoder.copyBufferToBuffer(a, 0, b, 0, bytes);
    };
    let best = 0;
    for (let round = 0; round <= rounds; round++)
      for (const encode of [byKernel, byDriver]) {
        const began = clock();
        const encoder = device.gpu.createCommandEncoder();
        encode(encoder);
        device.gpu.queue.submit([encoder.finish()]);
        await readBuffer(device.gpu, b, 16);
        if (round > 0) best = Math.max(best, (2 * bytes * repeats) / ((clock() - began) / 1000));
      }
    return best;
  } finally {
    memory.destroy();
  }
}
