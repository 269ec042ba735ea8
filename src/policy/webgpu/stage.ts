import { type ProductDevice, productsFor } from '../../gpu/matmul.ts';
import type { Allocator } from '../../gpu/memory.ts';
import type { PolicyShape } from '../engine.ts';
import { createActivations, createGradients, createTurns } from './activations.ts';
import { BatchBuffers } from './batchBuffers.ts';
import type { Stage } from './forward.ts';
import { attentionTilingFor, lossTilingFor, normThreads, normTilingFor } from './kernels.ts';
import { ParameterBuffers } from './parameters.ts';
import { createRing } from './statsRing.ts';
import { StepUniforms } from './uniforms.ts';

/** Everything that a policy allocates, besides the constants of its kernels. */
export interface Built {
  stage: Stage;
  uniforms: StepUniforms;
  update: { squares: GPUBuffer; summary: GPUBuffer; ring: GPUBuffer };
}

/** Makes one named part of the memory. A plan of memory counts what each takes. */
export type Part = <T>(name: string, make: () => T) => T;

/**
 * Allocates a policy for batches of up to `capacity` positions.
 * @throws LabError where a buffer exceeds the device's limits.
 */
export function createStage(
  memory: Allocator,
  shape: PolicyShape,
  capacity: number,
  device: ProductDevice,
  part: Part = (_, make) => make(),
): Built {
  const parameters = part('parameters, moments and gradient', () => new ParameterBuffers(memory, shape));
  const uniforms = new StepUniforms(memory, parameters.slices);
  const stage: Stage = {
    shape,
    products: productsFor(device),
    attentionTiling: attentionTilingFor(device.software),
    normTiling: normTilingFor(device.software, shape.width),
    lossTiling: (columns) => lossTilingFor(device.software, columns),
    parameters,
    batch: part('batch', () => new BatchBuffers(memory, capacity, shape.vocab)),
    activations: part('activations', () => createActivations(memory, shape, capacity)),
    gradients: part('gradients of activations', () => createGradients(memory, shape, capacity)),
    turns: createTurns(memory, shape),
    positions: uniforms.positions,
    trained: uniforms.trained,
  };
  const update = {
    squares: memory.storage('squares', normThreads(parameters.count)),
    summary: memory.storage('summary', 4),
    ring: createRing(memory),
  };
  return { stage, uniforms, update };
}
