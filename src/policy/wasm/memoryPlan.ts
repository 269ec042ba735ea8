import type { PolicyShape } from '../engine.ts';
import { checkShape } from '../shape.ts';
import { allocateCache, allocateScratch } from './decode.ts';
import { openKernels } from './kernels.ts';
import { allocatePolicy } from './machine.ts';
import { MemoryCount } from './memory.ts';
import { allocateWorkspace } from './workspace.ts';

/**
 * Bytes that a WebAssembly engine deals out for batches of `capacity` positions, and for one sampler where `rollouts` is
 * above 0: the code that allocates runs against a count. The memory itself may be larger, since it grows and never shrinks.
 * @throws LabError on a shape that cannot be built.
 */
export async function planWasmMemory(
  shape: PolicyShape,
  { capacity, rollouts = 0 }: { capacity: number; rollouts?: number },
): Promise<number> {
  checkShape(shape);
  const kernels = await openKernels(new WebAssembly.Memory({ initial: 1 }));
  const memory = new MemoryCount();
  const ground = { shape, headWidth: shape.width / shape.heads, kernels, memory };
  allocatePolicy(ground);
  allocateWorkspace(ground, capacity);
  if (rollouts > 0) {
    allocateScratch(ground, rollouts);
    for (let l = 0; l < shape.layers; l++) allocateCache(ground, rollouts);
  }
  return memory.bytes;
}
