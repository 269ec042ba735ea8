import type { LabDevice } from './device.ts';
import { matmulNt, tilingFor } from './matmul.ts';
import { Memory } from './memory.ts';
import { recordPlan } from './plan.ts';
import { readBuffer } from './read.ts';

/** A product [n, k]·[m, k]ᵀ. */
interface ProductSize {
  n: number;
  m: number;
  k: number;
}

const cube = (size: number): ProductSize => ({ n: size, m: size, k: size });
/** One as narrow as those of a small student, then ever larger ones, which a wide device needs to be filled. */
const PRODUCTS: readonly ProductSize[] = [{ n: 2048, m: 256, k: 64 }, ...[512, 1024, 2048, 4096].map(cube)];
/** Milliseconds of one product after which a larger one tells nothing new. */
const LONG = 20;
/** Milliseconds that a round of products should last. */
const ROUND = 50;

/**
 * The device's matrix rate with the lab's own product: floating-point operations a second of C = A·Bᵀ, 2·n·m·k
 * operations each, the best of several sizes and of `rounds` rounds.
 * @param clock milliseconds.
 */
export async function measureMatrixRate(
  device: LabDevice,
  clock: () => number,
  { products = PRODUCTS, rounds = 4 } = {},
): Promise<number> {
  let best = 0;
  for (const size of products) {
    const milliseconds = await timeProduct(device, clock, size, rounds);
    const flops = 2 * size.n * size.m * size.k;
    best = Math.max(best, flops / (milliseconds / 1000));
    if (milliseconds > LONG) break;
  }
  return best;
}

/** Milliseconds of one product, the best of the rounds. */
async function timeProduct(
  device: LabDevice,
  clock: () => number,
  { n, m, k }: ProductSize,
  rounds: number,
): Promise<number> {
  const memory = new Memory(device.gpu, 'the matrix benchmark');
  try {
    const dims = memory.create('dims', 16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    const a = memory.storage('A', n * k);
    const b = memory.storage('B', m * k);
    const c = memory.storage('C', n * m);
    const filled = (count: number) =>
      Float32Array.from({ length: count }, (_, i) => ((i * 31) % 17) / 17 - 0.5);
    device.gpu.queue.writeBuffer(dims, 0, new Uint32Array([n, n, 0, 0]));
    device.gpu.queue.writeBuffer(a, 0, filled(n * k));
    device.gpu.queue.writeBuffer(b, 0, filled(m * k));
    const kernel = matmulNt({ m, k }, tilingFor(device.report), 'plain', 'n');
    const plan = await recordPlan(device.gpu, device.pipelines, memory, [
      { ...kernel, bindings: [dims, a, b, c] },
    ]);
    await memory.settled();
    const run = async (repeats: number) => {
      const began = clock();
      const encoder = device.gpu.createCommandEncoder();
      const pass = encoder.beginComputePass();
      for (let i = 0; i < repeats; i++) plan.encode(pass, { n });
      pass.end();
      device.gpu.queue.submit([encoder.finish()]);
      await readBuffer(device.gpu, c, 16);
      return (clock() - began) / repeats;
    };
    // The driver compiles at the first dispatch; the second tells how many make a round.
    await run(1);
    let best = await run(1);
    const repeats = Math.min(64, Math.max(1, Math.round(ROUND / best)));
    for (let round = 0; round < rounds; round++) best = Math.min(best, await run(repeats));
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
