import type { LabDevice } from '../../gpu/device.ts';
import type { Allocator } from '../../gpu/memory.ts';
import { type Launch, type Plan, recordPlan } from '../../gpu/plan.ts';
import { backwardLaunches } from './backward.ts';
import { forwardLaunches, launch } from './forward.ts';
import * as kernels from './kernels.ts';
import { logitsLaunch, lossBackwardLaunches, lossLaunches } from './loss.ts';
import type { Built } from './stage.ts';

/** The recorded parts of the policy's work. A training step is the first four for each micro-batch, then `update`. */
export interface Plans {
  forward: Plan;
  loss: Plan;
  backward: Plan;
  /** Adds up the gradient, its norm and the loss. */
  gather: Plan;
  update: Plan;
  /** Logits of all listed rows, one plan a tile of the vocabulary. */
  logits: Plan[];
}

/** What `createPlans` records, still without pipelines. */
export type PlanLaunches = Record<Exclude<keyof Plans, 'logits'>, Launch[]> & { logits: Launch[][] };

/** All dispatches of the policy's work. */
export function planLaunches({ stage, uniforms, update }: Built): PlanLaunches {
  const { parameters, activations, batch, trained } = stage;
  const { count, slices, gradient } = parameters;
  const { squares, summary, ring } = update;
  return {
    forward: forwardLaunches(stage),
    loss: lossLaunches(stage),
    backward: [...lossBackwardLaunches(stage), ...backwardLaunches(stage)],
    gather: [
      launch(kernels.gradNorm(count, slices), uniforms.step, parameters.partials, gradient, squares),
      launch(
        kernels.stepSummary(count),
        trained,
        uniforms.step,
        squares,
        activations.nll,
        batch.field('shares'),
        summary,
        ring,
      ),
    ],
    update: [
      launch(
        kernels.adamw(count),
        uniforms.step,
        gradient,
        summary,
        parameters.decays,
        parameters.parameters,
        parameters.moment1,
        parameters.moment2,
      ),
    ],
    logits: activations.tiles.map((tile) => [logitsLaunch(stage, tile)]),
  };
}

/** Compiles and records everything; kernels of one text are shared. @throws LabError where one does not compile. */
export async function createPlans(device: LabDevice, memory: Allocator, built: Built): Promise<Plans> {
  const record = (launches: readonly Launch[]) => recordPlan(device.gpu, device.pipelines, memory, launches);
  const launches = planLaunches(built);
  const [forward, loss, backward, gather, update, ...logits] = await Promise.all([
    record(launches.forward),
    record(launches.loss),
    record(launches.backward),
    record(launches.gather),
    record(launches.update),
    ...launches.logits.map(record),
  ]);
  return { forward, loss, backward, gather, update, logits };
}
