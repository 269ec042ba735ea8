import * as jax from '@jax-js/jax';
import type { Rng } from '../../../src/base/rng.ts';
import { jaxBatch, jaxParameters, jaxValueAndGrad } from '../../../src/lab/bench/peers/jax.ts';
import type { PackedBatch, PolicyShape } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { backward, forward, loss } from '../../../src/policy/twin/model.ts';
import { weightsOf } from '../../../src/policy/twin/weights.ts';
import { allocate } from '../../../src/policy/twin/workspace.ts';

// Node 20 lacks the type that jax-js compares the type of every array with.
if (!('Float16Array' in globalThis)) Object.assign(globalThis, { Float16Array: class {} });

/** A loss and its gradient in the flat layout. */
export interface Differentiated {
  loss: number;
  gradient: Float64Array;
}

/** Parameters of which every tensor matters: matrices of unit gain, gains about 1, gaps 0. */
export function livelyParameters(shape: PolicyShape, rng: Rng): Float64Array {
  const { tensors, count } = layout(shape);
  const flat = new Float64Array(count);
  const draw = () => 2 * (rng.float() + rng.float() + rng.float() - 1.5);
  for (const { shape: dims, offset, size } of tensors)
    for (let i = offset; i < offset + size; i++)
      // Rounded to float32, so that every engine has the same.
      flat[i] = Math.fround(dims.length === 1 ? 1 + 0.3 * draw() : draw() / Math.sqrt(dims[1]!));
  return flat;
}

/** The loss alone, by the float64 twins; reads `flat` anew at each call. */
export function twinLoss(shape: PolicyShape, flat: Float64Array, batch: PackedBatch): () => number {
  const weights = weightsOf(shape, flat);
  const space = allocate(shape, batch.tokens.length);
  return () => {
    forward(shape, weights, batch, space);
    return loss(shape, weights, batch, space);
  };
}

/** By the float64 twins' own backward pass. */
export function byTwins(shape: PolicyShape, flat: Float64Array, batch: PackedBatch): Differentiated {
  const weights = weightsOf(shape, flat);
  const space = allocate(shape, batch.tokens.length);
  const gradient = new Float64Array(flat.length);
  forward(shape, weights, batch, space);
  const value = loss(shape, weights, batch, space);
  backward(shape, weights, batch, space, weightsOf(shape, gradient));
  return { loss: value, gradient };
}

/**
 * By reverse-mode differentiation in jax-js, which shares no code with the policy: in float64 on its interpreter, whose
 * exponentials are exact where those of its WebAssembly are not.
 */
export async function byJax(
  shape: PolicyShape,
  flat: Float64Array,
  batch: PackedBatch,
): Promise<Differentiated> {
  await jax.init('cpu');
  jax.defaultDevice('cpu');
  const valueAndGrad = jaxValueAndGrad(jax, shape);
  try {
    const [value, byTensor] = valueAndGrad(
      jaxParameters(jax, shape, flat, 'float64'),
      jaxBatch(jax, shape, batch, 'float64'),
    );
    const gradient = new Float64Array(flat.length);
    for (const { name, offset } of layout(shape).tensors) gradient.set(await byTensor[name]!.data(), offset);
    return { loss: (await value.data())[0]!, gradient };
  } finally {
    valueAndGrad.dispose();
  }
}

/** Largest difference of the entries of each tensor, relative to the largest entry of that tensor in `expected`. */
export function worstByTensor(
  shape: PolicyShape,
  actual: ArrayLike<number>,
  expected: Float64Array,
): Record<string, number> {
  return Object.fromEntries(
    layout(shape).tensors.map(({ name, offset, size }) => {
      let scale = 1e-12;
      let worst = 0;
      for (let i = offset; i < offset + size; i++) {
        scale = Math.max(scale, Math.abs(expected[i]!));
        worst = Math.max(worst, Math.abs(actual[i]! - expected[i]!));
      }
      return [name, worst / scale];
    }),
  );
}
