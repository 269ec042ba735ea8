import { demonstration } from '../../src/learn/demonstration.ts';
import { ADAMW } from '../../src/learn/sft.ts';
import { toolspace } from '../../src/methods/toolspace/experiment.ts';
import { pack } from '../../src/policy/batch.ts';
import type { Checkpoint } from '../../src/policy/engine.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import type { Task } from '../../src/task/model.ts';
import { desk } from '../../src/world/desk/index.ts';

const STEPS = 80;

/** A task of the desk world with at least two calls, and a policy that learned it by heart, in about a second. */
export async function tinyPolicy(): Promise<{ task: Task; checkpoint: Checkpoint }> {
  const { language } = desk;
  const task = firstTask();
  const sequence = demonstration(task, language);
  const engine = createCpuEngine({
    vocab: language.vocabulary.length,
    width: 32,
    layers: 1,
    heads: 2,
    hidden: 64,
    mlp: 'swiglu',
    context: Math.ceil((1.5 * sequence.tokens.length + language.longestAction) / 32) * 32,
  });
  engine.initialise(1);
  for (let step = 0; step < STEPS; step++) engine.train(pack([sequence]), { ...ADAMW, learningRate: 0.01 });
  const checkpoint = await engine.save();
  engine.destroy();
  return { task, checkpoint };
}

function firstTask(): Task {
  const config = { ...toolspace.presets.micro, trajectories: 60, tasks: 20 };
  const spec = { method: toolspace.id, preset: 'micro' as const, config, arms: ['trained'], seed: 3 };
  for (const event of toolspace.prepare(spec))
    if (event.type === 'tasks') {
      const task = event.tasks.find(({ chain }) => chain.length >= 2);
      if (task) return task;
    }
  throw new Error('no task with two calls among those of this seed');
}
