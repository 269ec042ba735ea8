import { describe, expect, it } from 'vitest';
import { normaliseConfig } from '../../src/lab/config.ts';
import { localServices } from '../../src/lab/local.ts';
import { runExperiment } from '../../src/lab/run.ts';
import type { RunEvent, Services } from '../../src/lab/services.ts';
import { methods } from '../../src/methods/index.ts';
import type { RunSpec } from '../../src/methods/method.ts';
import { toolspace } from '../../src/methods/toolspace/experiment.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { taskSetHash } from '../../src/task/synthesis/dataset.ts';

const services = localServices(methods, {
  clock: () => 0,
  openPolicy: async (shape, capacity) => createCpuEngine(shape, { capacity }),
});

function specOf(changes: Record<string, number | string> = {}): RunSpec {
  const small = {
    trajectories: 100,
    tasks: 80,
    heldOut: 20,
    width: '32',
    steps: 20,
    tokens: 256,
    warmup: 5,
    evaluateEvery: 10,
  };
  const config = normaliseConfig(toolspace, 'micro', { ...small, ...changes });
  return { method: toolspace.id, preset: 'micro', config, arms: ['untrained', 'trained'], seed: 3 };
}

async function collect(spec: RunSpec, given: Services = services): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of runExperiment(toolspace, spec, given, { clock: () => 0 })) events.push(event);
  return events;
}

const of = <T extends RunEvent['type']>(events: RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

describe('runExperiment', () => {
  it('tells traces, graph, tasks, verdicts, one dataset, both arms and the end, in this order', async () => {
    const events = await collect(specOf());
    const first = (type: RunEvent['type']) => events.findIndex((event) => event.type === type);
    const order = ['graph', 'tasks', 'verdicts', 'dataset', 'device', 'evaluation', 'steps', 'done'] as const;
    expect(order.map(first)).toEqual(order.map(first).sort((a, b) => a - b));
    expect(order.map(first)).not.toContain(-1);

    const tasks = of(events, 'tasks').flatMap((event) => event.tasks);
    const verdicts = of(events, 'verdicts').flatMap((event) => event.verdicts);
    expect(verdicts.map(({ task }) => task).sort()).toEqual(tasks.map(({ id }) => id).sort());
    const [dataset, ...others] = of(events, 'dataset');
    expect(others).toEqual([]);
    const { train, heldOut } = dataset!.tasks;
    expect(dataset!.hash).toBe(taskSetHash([...train, ...heldOut]));
    expect(heldOut).toHaveLength(20);
    const worlds = new Set(train.map(({ worldSeed }) => worldSeed));
    expect(heldOut.filter(({ worldSeed }) => worlds.has(worldSeed))).toEqual([]);

    const exams = of(events, 'evaluation').map(({ arm, step, success }) => [arm, step, success.n]);
    expect(exams).toEqual([
      ['untrained', 0, 20],
      ['trained', 10, 20],
      ['trained', 20, 20],
    ]);
    const { summary } = of(events, 'done')[0]!;
    expect(Object.keys(summary.arms)).toEqual(['untrained', 'trained']);
    expect(summary.arms.trained?.success).toBe(of(events, 'evaluation').at(-1)!.success.mean);
  });

  it('makes the same tasks from the same seed and others from another', async () => {
    const hashOf = async (seed: number) =>
      of(await collect({ ...specOf({ steps: 10 }), seed }), 'dataset')[0]!.hash;
    const hash = await hashOf(3);
    expect(await hashOf(3)).toBe(hash);
    expect(await hashOf(4)).not.toBe(hash);
  });

  it('trains only on what the gate let pass', async () => {
    const half: Services = {
      ...services,
      verify: async (_, tasks) =>
        tasks.map(({ id }, i) => ({
          task: id,
          passed: i % 2 === 0,
          failures: i % 2 ? ['refused here'] : [],
        })),
    };
    const events = await collect(specOf({ steps: 10 }), half);
    const passed = new Set(
      of(events, 'verdicts').flatMap((event) =>
        event.verdicts.filter((one) => one.passed).map((one) => one.task),
      ),
    );
    const { train, heldOut } = of(events, 'dataset')[0]!.tasks;
    expect([...train, ...heldOut].every(({ id }) => passed.has(id))).toBe(true);
    expect(of(events, 'done')[0]!.summary.taskSet.rejected).toBe(50);
  });

  it('says so where nothing passes', async () => {
    const none: Services = {
      ...services,
      verify: async (_, tasks) => tasks.map(({ id }) => ({ task: id, passed: false, failures: ['no'] })),
    };
    await expect(collect(specOf(), none)).rejects.toThrow(/none of 100 candidate tasks passed/);
  });
});
