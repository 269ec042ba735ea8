import type { StepOptions } from '../engine.ts';
import type { Tensor } from '../layout.ts';
import type { Reals } from './arrays.ts';

/** 2-norm of the whole gradient: √Σ g². gradient [P]. */
export function gradNorm(gradient: Reals): number {
  let sum = 0;
  for (let i = 0; i < gradient.length; i++) sum += gradient[i]! * gradient[i]!;
  return Math.sqrt(sum);
}

/** What AdamW reads and writes; all of length P in the flat layout. The gradient is only read. */
export interface AdamState {
  parameters: Float32Array | Float64Array;
  gradient: Reals;
  moment1: Float32Array | Float64Array;
  moment2: Float32Array | Float64Array;
}

/**
 * One AdamW step in place. With ĝ = g · min(1, clip / norm) and t = `step` (1 for the first):
 * m = β1·m + (1 − β1)·ĝ; v = β2·v + (1 − β2)·ĝ²;
 * θ = θ − lr·(m/(1 − β1^t) / (√(v/(1 − β2^t)) + ε) + λ·θ), with λ = weightDecay on matrices and 0 on gains.
 * Alignment gaps are not touched.
 * Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2 with the schedule in lr.
 * @param norm 2-norm of the gradient before clipping, from `gradNorm`.
 */
export function adamw(
  state: AdamState,
  tensors: readonly Tensor[],
  options: StepOptions,
  step: number,
  norm: number,
): void {
  const { parameters, gradient, moment1, moment2 } = state;
  const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
  const scale = norm > clip ? clip / norm : 1;
  const correction1 = 1 - beta1 ** step;
  const correction2 = 1 - beta2 ** step;
  for (const { offset, size, shape } of tensors) {
    const decay = shape.length > 1 ? weightDecay : 0;
    for (let i = offset; i < offset + size; i++) {
      const g = gradient[i]! * scale;
      const m = beta1 * moment1[i]! + (1 - beta1) * g;
      const v = beta2 * moment2[i]! + (1 - beta2) * g * g;
      moment1[i] = m;
      moment2[i] = v;
      const direction = m / correction1 / (Math.sqrt(v / correction2) + epsilon);
      parameters[i] = parameters[i]! - learningRate * (direction + decay * parameters[i]!);
    }
  }
}
