import type { StepOptions } from '../engine.ts';
import type { Machine } from './machine.ts';

/**
 * One AdamW step on all parameters from the machine's gradient, clipped to `clip`; see `src/policy/twin/optimiser.ts`.
 * @param step 1 for the first. @returns the 2-norm of the gradient before clipping.
 */
export function update(machine: Machine, options: StepOptions, step: number): number {
  const { kernels, at, count, tensors } = machine;
  const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
  const norm = kernels.norm(at.gradient, count);
  const scale = norm > clip ? clip / norm : 1;
  for (const { offset, size, shape } of tensors)
    kernels.adamw(
      at.parameters + 4 * offset,
      at.gradient + 4 * offset,
      at.moment1 + 4 * offset,
      at.moment2 + 4 * offset,
      size,
      scale,
      learningRate,
      beta1,
      beta2,
      // In float64: in float32 1 − 0.999 is off by 5e-5.
      1 - beta1,
      1 - beta2,
      1 / (1 - beta1 ** step),
      1 / (1 - beta2 ** step),
      epsilon,
      shape.length > 1 ? weightDecay : 0,
    );
  return norm;
}
