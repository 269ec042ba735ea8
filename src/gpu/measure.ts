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
