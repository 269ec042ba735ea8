import type { LabDevice } from '../../gpu/device.ts';
import type { Memory } from '../../gpu/memory.ts';
import { type Launch, type Plan, recordPlan } from '../../gpu/plan.ts';
import { backwardLaunches } from './backward.ts';
import { forwardLaunches, launch, type Stage } from './forward.ts';
import * as kernels from './kernels.ts';
import { logitsLaunch, lossBackwardLaunches, lossLaunches } from './loss.ts';
import type { StepUniforms } from './uniforms.ts';

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

/** Compiles and records everything; kernels of one text are shared. @throws LabError where one does not compile. */
export async function createPlans(
  device: LabDevice,
  memory: Memory,
  stage: Stage,
  uniforms: StepUniforms,
  update: { squares: GPUBuffer; summary: GPUBuffer; ring: GPUBuffer },
): Promise<Plans> {
  const { parameters, activations, batch, trained } = stage;
  const { count, slices, gradient } = parameters;
  const { squares, summary, ring } = update;
  const record = (launches: readonly Launch[]) => recordPlan(device.gpu, device.pipelines, memory, launches);
  const [forward, loss, backward, gather, updating, ...logits] = await Promise.all([
    record(forwardLaunches(stage)),
    record(lossLaunches(stage)),
    record([...lossBackwardLaunches(stage), ...backwardLaunches(stage)]),
    record([
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
    ]),
    record([
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
    ]),
    ...activations.tiles.map((tile) => record([logitsLaunch(stage, tile)])),
  ]);
  return { forward, loss, backward, gather, update: updating, logits };
}
