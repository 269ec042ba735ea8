import attentionSource from '../../shaders/attention.wgsl?raw';
import lossSource from '../../shaders/cross_entropy.wgsl?raw';
import normSource from '../../shaders/rms_norm.wgsl?raw';
import { LabError } from '../base/errors.ts';
import { matmulNt, type ProductDevice, tilingFor } from './matmul.ts';
import { Memory, USAGE } from './memory.ts';
import type { Pipelines } from './pipelines.ts';
import { type Launch, recordPlan } from './plan.ts';
import { readBuffer } from './read.ts';
import { expectedAnswers, SIZE, type Stage, testInputs } from './selfTestAnswers.ts';
import { wgsl } from './wgsl.ts';

/**
 * Runs a small chain whose numbers are known, norm → product → attention → product → cross-entropy: some drivers
 * compile kernels to wrong code, and failed allocations can pass in silence, so a device proves itself before it is used.
 * The second product takes the tile of large ones, which on a GPU is another kernel than that of small ones.
 * @throws LabError that names the first stage where a number is off by more than rounding.
 */
export async function checkKnownAnswers(
  device: GPUDevice,
  pipelines: Pick<Pipelines, 'get'>,
  report: ProductDevice,
): Promise<void> {
  const memory = new Memory(device, 'the device check');
  try {
    const { rows, width, heads, vocab } = SIZE;
    const inputs = testInputs();
    const filled = (label: string, data: Uint32Array<ArrayBuffer> | Float32Array<ArrayBuffer>) => {
      const buffer = memory.storage(label, data.length);
      memory.fill(buffer, () => data);
      return buffer;
    };
    const uniform = (label: string, words: number[]) => {
      const buffer = memory.create(label, 16, USAGE.UNIFORM | USAGE.COPY_DST);
      memory.fill(buffer, () => new Uint32Array(words));
      return buffer;
    };
    const room = (label: string, elements: number) => memory.storage(label, elements);
    const dims = uniform('dims', [rows, rows, 0, 0]);
    const tile = uniform('tile', [0, vocab, 0, 0]);
    const made: Record<Stage, GPUBuffer> = {
      rms_norm: room('normed', rows * width),
      matmul_nt: room('qkv', rows * 3 * width),
      attention: room('attended', rows * width),
      'matmul_nt, the tile of large products': room('logits', rows * vocab),
      cross_entropy: room('nll', rows),
    };
    const [normed, qkv, attended, logits, nll] = Object.values(made) as [
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
      GPUBuffer,
    ];
    const large = tilingFor(report, { kind: 'nt', rows: 1024, m: 64, k: 64 });
    const project = matmulNt({ m: 3 * width, k: width }, tilingFor(report), 'plain', 'n');
    const output = matmulNt({ m: vocab, k: width }, large, 'plain', 'n');
    const threads = () => rows;
    // As many rows a thread as the policy's own kernels take.
    const block = report.software ? 4 : 1;
    const launches: Launch[] = [
      {
        label: 'rms_norm',
        code: wgsl(normSource, { D4: width / 4, LANES: 1, PARALLEL: false }),
        bindings: [dims, filled('x', inputs.x), filled('gain', inputs.gain), normed, room('inverse', rows)],
        threads,
      },
      { ...project, bindings: [dims, normed, filled('weights', inputs.weights), qkv] },
      {
        label: 'attention',
        code: wgsl(attentionSource, {
          VEC: 'vec4f',
          HEADS: heads,
          HEAD_VECS: width / heads / 4,
          WIDTH_VECS: width / 4,
          SCALE: 1 / Math.sqrt(width / heads),
          BLOCK: block,
          WORKGROUP: 16,
        }),
        bindings: [dims, qkv, filled('starts', inputs.starts), attended, room('lse', rows * heads)],
        threads: () => Math.ceil(rows / block) * heads,
      },
      { ...output, bindings: [dims, attended, filled('embedding', inputs.embedding), logits] },
      {
        label: 'cross_entropy',
        code: wgsl(lossSource, { COLUMNS4: vocab / 4, LANES: 1, PARALLEL: false, WORKGROUP: 64 }),
        bindings: [dims, tile, logits, filled('targets', inputs.targets), room('state', 4 * rows), nll],
        threads,
      },
    ];
    const plan = await recordPlan(device, pipelines, memory, launches);
    await memory.settled();
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    plan.encode(pass, { n: rows });
    pass.end();
    device.queue.submit([encoder.finish()]);
    const expected = expectedAnswers(inputs);
    const measured = await Promise.all(
      Object.values(made).map((buffer) => readBuffer(device, buffer, buffer.size)),
    );
    for (const [i, stage] of (Object.keys(made) as Stage[]).entries())
      compare(stage, new Float32Array(measured[i]!), expected[stage]);
  } finally {
    memory.destroy();
  }
}

function compare(stage: Stage, measured: Float32Array, expected: readonly number[]): void {
  const at = expected.findIndex(
    (value, i) => !(Math.abs(measured[i]! - value) <= 1e-4 * (1 + Math.abs(value))),
  );
  if (at < 0) return;
  throw new LabError(
    `the graphics device computes wrong numbers: ${measured[at]} where ${expected[at]} is right`,
    {
      where: `device check, ${stage}, element ${at}`,
      remedy: 'update the graphics driver or the browser, or use the CPU engine',
    },
  );
}
