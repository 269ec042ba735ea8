import { expect, it } from 'vitest';
import { planRun } from '../../src/lab/memory.ts';
import { methods } from '../../src/methods/index.ts';
import type { PresetId, RunSpec } from '../../src/methods/method.ts';
import type { PolicyShape } from '../../src/policy/engine.ts';
import { planMemory } from '../../src/policy/webgpu/memoryPlan.ts';
import type { Task } from '../../src/task/model.ts';

const toolspace = methods[0]!;
const specOf = (preset: PresetId, changes = {}): RunSpec => ({
  method: toolspace.id,
  preset,
  config: { ...toolspace.presets[preset], ...changes },
  arms: ['untrained'],
  seed: 1,
});

it.each(['micro', 'laptop'] as const)(
  'plans the memory of %s as what its tasks ask for, or a step of the context more',
  async (preset) => {
    const spec = specOf(preset, { tasks: 300, heldOut: 20, trajectories: 200 });
    const tasks: Task[] = [];
    for (const event of toolspace.prepare(spec)) if (event.type === 'tasks') tasks.push(...event.tasks);
    let opened: { shape: PolicyShape; capacity: number } | null = null;
    const enough = new Error('enough');
    const learn = toolspace.learn(
      spec,
      { train: tasks.slice(20), heldOut: tasks.slice(0, 20) },
      {
        clock: () => 0,
        openPolicy: async (shape, capacity) => {
          opened = { shape, capacity };
          throw enough;
        },
      },
    );
    await expect(learn.next()).rejects.toThrow(enough);
    const { shape, capacity } = opened!;
    const { total } = planMemory(shape, { capacity, rollouts: toolspace.student!(spec).rollouts });
    const planned = await planRun(toolspace, spec, 'webgpu');
    // The context comes in steps of 32 tokens: where few tasks leave one unused, the plan has a sixth too much.
    expect(planned!.bytes / total).toBeGreaterThanOrEqual(1);
    expect(planned!.bytes / total).toBeLessThan(1.17);
    expect(planned!.fits).toBe(true);
    expect(planned!.text).toMatch(/^The student of [\d,]+ parameters needs \d+ MB on the graphics device\.$/);
  },
);

it('says what to lower where WebGPU does not grant everywhere what a run takes, and nothing of an unknown student', async () => {
  const wide = await planRun(
    toolspace,
    specOf('micro', { width: '128', layers: 6, tokens: 8192, maxLength: 12 }),
    'webgpu',
  );
  expect(wide!.bytes).toBeGreaterThan((await planRun(toolspace, specOf('micro'), 'webgpu'))!.bytes);
  const { student: _, ...unknown } = toolspace;
  expect(await planRun(unknown, specOf('micro'), 'webgpu')).toBeNull();
  const greedy = { ...toolspace, student: () => ({ ...toolspace.student!(specOf('micro')), capacity: 1e6 }) };
  const refused = await planRun(greedy, specOf('micro'), 'webgpu');
  expect(refused!.fits).toBe(false);
  expect(refused!.text).toMatch(
    /needs \d+(\.\d)? GB .*Not every device gives that: .*lower the tokens a step to [\d,]+ or the width/,
  );
});

it('plans less for the processor, in words of its own', async () => {
  const [device, processor] = await Promise.all([
    planRun(toolspace, specOf('micro'), 'webgpu'),
    planRun(toolspace, specOf('micro'), 'cpu'),
  ]);
  expect(processor!.parameters).toBe(device!.parameters);
  expect(processor!.bytes).toBeGreaterThan(16 * processor!.parameters);
  expect(processor!.bytes).toBeLessThan(device!.bytes);
  expect(processor!.text).toMatch(/needs about \d+ MB of the processor's memory\.$/);
  const huge = { ...toolspace, student: () => ({ ...toolspace.student!(specOf('micro')), capacity: 4e6 }) };
  const refused = await planRun(huge, specOf('micro'), 'cpu');
  expect(refused!.fits).toBe(false);
  expect(refused!.text).toContain('lower the tokens a step');
});
