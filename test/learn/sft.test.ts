import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import { demonstration } from '../../src/learn/demonstration.ts';
import { type EpisodeRecord, rollouts } from '../../src/learn/rollout.ts';
import { ADAMW, type SftOptions, type SftStart, sft } from '../../src/learn/sft.ts';
import type { PolicyEngine, StepStats } from '../../src/policy/engine.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { desk } from '../../src/world/desk/index.ts';
import { makeTasks } from './desk.ts';

const { language } = desk;
const SHAPE = {
  vocab: language.vocabulary.length,
  width: 32,
  layers: 2,
  heads: 2,
  hidden: 128,
  context: 160,
};
const tasks = makeTasks('sft', 24);
const data = tasks.map((task) => demonstration(task, language));

function options(steps: number): SftOptions {
  return {
    schedule: { peak: 0.005, steps, warmup: 10, final: 0.1 },
    tokens: 600,
    sequences: 600,
    optimiser: ADAMW,
    reportEvery: 10,
  };
}

async function train(
  engine: PolicyEngine,
  steps: number,
  upTo = steps,
  start?: SftStart,
): Promise<StepStats[]> {
  const stats: StepStats[] = [];
  for await (const report of sft(engine, data, options(steps), new Rng(1), start)) {
    stats.push(...report.stats);
    if (stats.length >= upTo) break;
  }
  return stats;
}

async function play(engine: PolicyEngine, parallel: number): Promise<EpisodeRecord[]> {
  const records: EpisodeRecord[] = [];
  for await (const group of rollouts(engine, desk, tasks, { parallel, turns: 12, temperature: 0, seed: 1 }))
    records.push(...group);
  return records;
}

describe('sft and rollouts', () => {
  it('learns a few tasks by heart and then solves them in the world, whatever is decoded side by side', async () => {
    const engine = createCpuEngine(SHAPE, { capacity: 600 });
    engine.initialise(1);
    const before = await play(engine, 24);
    expect(before.filter((record) => record.verdict.passed)).toHaveLength(0);

    const stats = await train(engine, 250);
    expect(stats.at(-1)!.loss).toBeLessThan(0.05 * stats[0]!.loss);
    const after = await play(engine, 24);
    expect(after.filter((record) => record.verdict.passed).length).toBeGreaterThanOrEqual(22);
    // What a record says was called is what the verifier judged: each passed one ends by saying so itself.
    for (const record of after.filter((one) => one.verdict.passed)) expect(record.end).toBe('done');
    expect(await play(engine, 5)).toEqual(after);
    engine.destroy();
  }, 240_000);

  it('goes on from a checkpoint as if it had never stopped', async () => {
    const whole = createCpuEngine(SHAPE, { capacity: 600 });
    whole.initialise(3);
    const all = await train(whole, 40);

    const first = createCpuEngine(SHAPE, { capacity: 600 });
    first.initialise(3);
    const half = await train(first, 40, 20);
    const second = createCpuEngine(SHAPE, { capacity: 600 });
    second.load(await first.save());
    const rest = await train(second, 40, 20, { step: 20 });
    expect([...half, ...rest]).toEqual(all);
    expect((await second.save()).parameters).toEqual((await whole.save()).parameters);
  });

  it('stops with a sentence where the loss is no number any more', async () => {
    const engine = createCpuEngine(SHAPE, { capacity: 600 });
    engine.initialise(1);
    const wild = { ...options(20), schedule: { peak: 3e38, steps: 20, warmup: 1, final: 1 } };
    const run = async () => {
      for await (const _ of sft(engine, data, wild, new Rng(1))) {
        // Only the end matters here.
      }
    };
    await expect(run()).rejects.toThrow(/the loss is/);
  });
});
