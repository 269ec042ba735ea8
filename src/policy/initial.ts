import { Rng } from '../base/rng.ts';
import type { PolicyShape } from './engine.ts';
import { layout } from './layout.ts';
import { checkShape } from './shape.ts';

/** Standard deviation of fresh matrices (GPT-2: Radford et al. 2019, section 2.3). */
const SPREAD = 0.02;

/**
 * Fresh weights in the flat layout, `parameterCount(shape)` entries: matrices normal with standard deviation 0.02,
 * those that write into the residual stream (`out`, `down`) scaled by 1/√(2·layers), gains 1, alignment gaps 0.
 * Each tensor draws from its own stream, so equal seeds give equal bits on every engine.
 * @throws LabError on a shape that no engine can build.
 */
export function initialWeights(shape: PolicyShape, seed: number): Float32Array {
  checkShape(shape);
  const { tensors, count } = layout(shape);
  const weights = new Float32Array(count);
  const rng = new Rng(seed).fork('weights');
  for (const { name, shape: dims, offset, size } of tensors) {
    const target = weights.subarray(offset, offset + size);
    if (dims.length === 1) {
      target.fill(1);
      continue;
    }
    const residual = name.endsWith('.out') || name.endsWith('.down');
    fillNormal(target, rng.fork(name), residual ? SPREAD / Math.sqrt(2 * shape.layers) : SPREAD);
  }
  return weights;
}

/** Fills with N(0, spread²) draws, two a pair of uniforms (Box & Muller 1958). */
function fillNormal(target: Float32Array, rng: Rng, spread: number): void {
  for (let i = 0; i < target.length; i += 2) {
    // 1 − u is in (0, 1], so the logarithm is finite.
    const radius = spread * Math.sqrt(-2 * Math.log(1 - rng.float()));
    const angle = 2 * Math.PI * rng.float();
    target[i] = radius * Math.cos(angle);
    if (i + 1 < target.length) target[i + 1] = radius * Math.sin(angle);
  }
}
