import { Rng } from '../../base/rng.ts';
import type { LabDevice } from '../../gpu/device.ts';
import { measureMatrixRate } from '../../gpu/measure.ts';
import { ADAMW } from '../../learn/sft.ts';
import { pack } from '../../policy/batch.ts';
import type { PackedBatch, PolicyEngine, PolicyShape } from '../../policy/engine.ts';
import { stepFlops } from '../../policy/flops.ts';
import { createCpuEngine } from '../../policy/twin/engine.ts';
import { createWebGpuEngine } from '../../policy/webgpu/engine.ts';
import { type BenchRow, rate, timed } from './row.ts';

/** The student of the micro preset. */
const SHAPE: PolicyShape = { vocab: 146, width: 64, layers: 2, heads: 4, hidden: 256, context: 128 };
const TOKENS = 512;
const STEPS = 30;
const ROLLOUTS = 128;

/** Training and sampling of the micro student, with the share of the device's measured matrix rate that a step reaches. */
export async function benchEngine(device: LabDevice | null): Promise<BenchRow[]> {
  const batch = syntheticBatch();
  const flops = stepFlops(SHAPE, batch);
  const engine = device
    ? await createWebGpuEngine(device, SHAPE, { capacity: TOKENS })
    : createCpuEngine(SHAPE, { capacity: TOKENS });
  try {
    const milliseconds = await timeSteps(engine, batch);
    const matrix = device ? await measureMatrixRate(device, () => performance.now()) : null;
    const floor = matrix === null ? null : (flops / matrix) * 1000;
    const rows: BenchRow[] = [
      {
        name: 'training step',
        value: milliseconds,
        unit: 'ms',
        floor,
        share: floor === null ? null : floor / milliseconds,
      },
      rate('training', batch.tokens.length, milliseconds, 'tokens/s'),
      {
        name: 'training arithmetic',
        value: flops / milliseconds / 1e6,
        unit: 'GFLOP/s',
        floor: null,
        share: null,
      },
      await timeSampling(engine),
    ];
    if (matrix !== null)
      rows.unshift({
        name: 'matrix product 512³',
        value: matrix / 1e9,
        unit: 'GFLOP/s',
        floor: null,
        share: null,
      });
    return rows;
  } finally {
    engine.destroy();
  }
}

/** Sequences as long as those of `desk`, 40% of their tokens supervised. */
function syntheticBatch(): PackedBatch {
  const rng = new Rng('bench');
  const sequences = [];
  for (let used = 0; used < TOKENS; ) {
    const length = Math.min(TOKENS - used, 40 + rng.int(40));
    used += length;
    sequences.push({
      tokens: Array.from({ length }, () => rng.int(SHAPE.vocab)),
      weights: Array.from({ length }, () => (rng.chance(0.4) ? 1 : 0)),
    });
  }
  return pack(sequences);
}

async function timeSteps(engine: PolicyEngine, batch: PackedBatch): Promise<number> {
  const options = { ...ADAMW, learningRate: 1e-3 };
  const steps = async (count: number) => {
    for (let i = 0; i < count; i++) engine.train(batch, options);
    await engine.stats();
  };
  await steps(2);
  const { milliseconds } = await timed(() => steps(STEPS));
  return milliseconds / STEPS;
}

async function timeSampling(engine: PolicyEngine): Promise<BenchRow> {
  const sampler = engine.sampler(ROLLOUTS);
  try {
    const inputs = Array.from({ length: ROLLOUTS }, (_, r) => [1 + (r % 20), 2, 3, 4, 5, 6, 7, 8]);
    const options = { stop: -1, limit: 16, temperature: 1, seed: 1 };
    await sampler.turn(inputs, options);
    sampler.reset();
    const { value, milliseconds } = await timed(() => sampler.turn(inputs, options));
    const sampled = value.reduce((sum, { tokens }) => sum + tokens.length, 0);
    return rate(`sampling, ${ROLLOUTS} rollouts`, sampled, milliseconds, 'tokens/s');
  } finally {
    sampler.destroy();
  }
}
