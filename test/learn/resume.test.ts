import { afterAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import type { LabDevice } from '../../src/gpu/device.ts';
import { batches } from '../../src/learn/batches.ts';
import { demonstration } from '../../src/learn/demonstration.ts';
import { ADAMW, type SftOptions, type SftStart, sft } from '../../src/learn/sft.ts';
import type { PackedBatch, PolicyEngine, PolicyShape, StepStats } from '../../src/policy/engine.ts';
import { readSafetensors, writeSafetensors } from '../../src/policy/safetensors.ts';
import type { TrainingCheckpoint } from '../../src/policy/training.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { desk } from '../../src/world/desk/index.ts';
import { openTestDevice } from '../kernel/device.ts';
import { makeTasks } from './desk.ts';

const { language } = desk;
const data = makeTasks('resume', 24).map((task) => demonstration(task, language));
const tokens = 300;
const STEPS = 40;
const SHAPE: PolicyShape = {
  vocab: language.vocabulary.length,
  width: 16,
  layers: 1,
  heads: 2,
  hidden: 32,
  context: 160,
};
const OPTIONS: SftOptions = {
  schedule: { peak: 0.005, steps: STEPS, warmup: 10, final: 0.1 },
  tokens,
  sequences: tokens,
  optimiser: ADAMW,
  reportEvery: 1,
  names: language.names,
};

const bits = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);

/** What a stretch of training did, as bits. */
interface Stretch {
  batches: PackedBatch[];
  stats: StepStats[];
  checkpoint: TrainingCheckpoint;
}

/** Trains to step `until`, watching what reaches the engine. */
async function train(engine: PolicyEngine, until: number, start?: SftStart): Promise<Stretch> {
  const seen: PackedBatch[] = [];
  const pass = engine.train.bind(engine);
  engine.train = (batch, options) => {
    seen.push(structuredClone(batch) as PackedBatch);
    pass(batch, options);
  };
  const stats: StepStats[] = [];
  for await (const report of sft(engine, data, OPTIONS, new Rng(9).fork('sft'), start)) {
    stats.push(...report.stats);
    if (stats.at(-1)!.step < until) continue;
    const checkpoint = { ...(await engine.save()), training: report.state };
    return { batches: seen, stats, checkpoint };
  }
  throw new Error('training ended early');
}

/** Two devices: what one computed goes on on the other. Compiling for a device takes seconds, so there are no more. */
const devices: LabDevice[] = [];
afterAll(() => {
  for (const device of devices) device.destroy();
});

/** Opens engines: one that begins and is stopped, and one that has nothing of it and goes on. */
const ENGINES: Record<string, (role: 0 | 1) => Promise<PolicyEngine>> = {
  'the twins': async () => createCpuEngine(SHAPE, { capacity: tokens }),
  WebGPU: async (role) => {
    devices[role] ??= await openTestDevice();
    return createWebGpuEngine(devices[role]!, SHAPE, { capacity: tokens });
  },
};

describe.each(Object.keys(ENGINES))('a run on %s that stops and goes on from a file', (name) => {
  it('has the batches, losses, parameters and moments of an unbroken one, bit for bit', async () => {
    const open = ENGINES[name]!;
    const engine = await open(0);
    engine.initialise(3);
    const whole = await train(engine, STEPS);
    engine.destroy();
    // The data is gone through several times, so stops lie in several epochs.
    expect(whole.checkpoint.training!.cursor.epoch).toBeGreaterThan(4);
    const rng = new Rng(`stops on ${name}`);
    for (const stop of [1, 1 + rng.int(STEPS - 2), 1 + rng.int(STEPS - 2)]) {
      const first = await open(0);
      first.initialise(3);
      const begun = await train(first, stop);
      const file = writeSafetensors(begun.checkpoint);
      first.destroy();

      const second = await open(1);
      const read = readSafetensors(file);
      second.load(read);
      const rest = await train(second, STEPS, read);
      expect([...begun.batches, ...rest.batches]).toEqual(whole.batches);
      expect([...begun.stats, ...rest.stats]).toEqual(whole.stats);
      for (const field of ['parameters', 'moment1', 'moment2'] as const)
        expect(bits(rest.checkpoint[field])).toEqual(bits(whole.checkpoint[field]));
      expect(rest.checkpoint.training).toEqual(whole.checkpoint.training);
      // The last file of both runs is the same file.
      expect(writeSafetensors(rest.checkpoint)).toEqual(writeSafetensors(whole.checkpoint));
      second.destroy();
    }
  }, 120_000);
});

describe('the place in the data', () => {
  it('is where the next batch begins, in every batch of several epochs', () => {
    const source = batches(data, OPTIONS, new Rng(4));
    const made = Array.from({ length: 30 }, () => source.next().value);
    for (const [i, { next }] of made.slice(0, -1).entries()) {
      const again = batches(data, OPTIONS, new Rng(4), next);
      expect(again.next().value).toEqual(made[i + 1]);
    }
    expect(made.some(({ next }) => next.epoch > 3 && next.place > 0)).toBe(true);
  });

  it('follows from the step where a checkpoint does not hold it', async () => {
    const whole = createCpuEngine(SHAPE, { capacity: tokens });
    whole.initialise(3);
    const { checkpoint } = await train(whole, 12);
    const { batches: expected } = await train(whole, 15, checkpoint);
    const old = createCpuEngine(SHAPE, { capacity: tokens });
    const { training: _, ...without } = checkpoint;
    old.load(without);
    expect((await train(old, 15, without)).batches).toEqual(expected);
  });

  it('is refused outside the data, and with the streams of another seed', async () => {
    const start = (place: number, streams: Record<string, number>) => ({
      step: 2,
      training: { cursor: { epoch: 0, place }, streams },
    });
    const own = { '9/sft/batches': 0, '9/sft/names': 2 };
    const engine = createCpuEngine(SHAPE, { capacity: tokens });
    await expect(train(engine, 3, start(24, own))).rejects.toThrow(/sequence 24 of 24/);
    await expect(train(engine, 3, start(0, { '8/sft/batches': 0, '8/sft/names': 2 }))).rejects.toThrow(
      /stream 9\/sft\/batches should stand at 0; the checkpoint has no such stream/,
    );
    await expect(train(engine, 3, start(0, { ...own, '9/sft/names': 5 }))).rejects.toThrow(/stands at 5/);
    await train(engine, 3, start(0, own));
  });
});
