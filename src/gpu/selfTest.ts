import normSource from '../../shaders/rms_norm.wgsl?raw';
import { LabError } from '../base/errors.ts';
import { matmulNt, type Tiling } from './matmul.ts';
import { Memory } from './memory.ts';
import type { Pipelines } from './pipelines.ts';
import { recordPlan } from './plan.ts';
import { readBuffer } from './read.ts';
import { wgsl } from './wgsl.ts';

const ROWS = 5;
const WIDTH = 8;
const COLUMNS = 12;

/**
 * Runs a small product and a normalisation whose results are known: some drivers compile kernels to wrong code, and
 * failed allocations can pass in silence, so a device proves itself before it is used.
 * @param tiling the tile that products on this device will use.
 * @throws LabError where a number is off by more than rounding.
 */
export async function checkKnownAnswers(
  device: GPUDevice,
  pipelines: Pick<Pipelines, 'get'>,
  tiling: Tiling,
): Promise<void> {
  const memory = new Memory(device, 'the device check');
  try {
    const dims = memory.create('dims', 16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    const [x, gain, weight, y, inverse, c] = [
      ROWS * WIDTH,
      WIDTH,
      COLUMNS * WIDTH,
      ROWS * WIDTH,
      ROWS,
      ROWS * COLUMNS,
    ].map((count, i) => memory.storage(`check ${i}`, count)) as [
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
    ];
    const input = Float32Array.from({ length: ROWS * WIDTH }, (_, i) => ((i * 7) % 11) - 5);
    const gains = Float32Array.from({ length: WIDTH }, (_, i) => 0.5 + i / 8);
    const weights = Float32Array.from({ length: COLUMNS * WIDTH }, (_, i) => ((i * 5) % 13) - 6);
    device.queue.writeBuffer(dims, 0, new Uint32Array([ROWS, ROWS, 0, 0]));
    for (const [buffer, data] of [
      [x, input],
      [gain, gains],
      [weight, weights],
    ] as const)
      device.queue.writeBuffer(buffer, 0, data);
    const norm = wgsl(normSource, { D4: WIDTH / 4 });
    const product = matmulNt({ m: COLUMNS, k: WIDTH }, tiling, 'plain', 'n');
    const plan = await recordPlan(device, pipelines, memory, [
      { label: 'rms_norm', code: norm, bindings: [dims, x, gain, y, inverse], threads: (s) => s.n! },
      { ...product, bindings: [dims, y, weight, c] },
    ]);
    await memory.settled();
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    plan.encode(pass, { n: ROWS });
    pass.end();
    device.queue.submit([encoder.finish()]);
    compare(new Float32Array(await readBuffer(device, c, ROWS * COLUMNS * 4)), answer(input, gains, weights));
  } finally {
    memory.destroy();
  }
}

/** The same in float64. */
function answer(x: Float32Array, gain: Float32Array, weight: Float32Array): number[] {
  const out: number[] = [];
  for (let row = 0; row < ROWS; row++) {
    const values = x.subarray(row * WIDTH, (row + 1) * WIDTH);
    const scale = 1 / Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / WIDTH + 1e-6);
    for (let m = 0; m < COLUMNS; m++)
      out.push(values.reduce((sum, v, k) => sum + v * scale * gain[k]! * weight[m * WIDTH + k]!, 0));
  }
  return out;
}

function compare(measured: Float32Array, expected: readonly number[]): void {
  const at = expected.findIndex(
    (value, i) => !(Math.abs(measured[i]! - value) <= 1e-4 * (1 + Math.abs(value))),
  );
  if (at < 0) return;
  throw new LabError(
    `the graphics device computes wrong numbers: ${measured[at]} where ${expected[at]} is right`,
    {
      where: `device check, element ${at}`,
      remedy: 'update the graphics driver or the browser, or use the CPU engine',
    },
  );
}
