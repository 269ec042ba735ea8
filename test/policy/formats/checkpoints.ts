import { Rng } from '../../../src/base/rng.ts';
import type { Checkpoint, PolicyShape } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';

export const shape: PolicyShape = { vocab: 13, width: 16, layers: 2, heads: 2, hidden: 24, context: 20 };

/** A checkpoint of random numbers (gains near 1, second moments ≥ 0, gaps 0), as after some training. */
export function randomCheckpoint(seed: number, of: PolicyShape = shape): Checkpoint {
  const { tensors, count } = layout(of);
  const rng = new Rng(seed);
  const fill = (draw: (gain: boolean) => number) => {
    const values = new Float32Array(count);
    for (const { offset, size, shape: dims } of tensors)
      for (let i = offset; i < offset + size; i++) values[i] = draw(dims.length === 1);
    return values;
  };
  const centred = () => rng.float() * 2 - 1;
  return {
    shape: of,
    step: 1234,
    parameters: fill((gain) => (gain ? 1 + 0.3 * centred() : 0.4 * centred())),
    moment1: fill(centred),
    moment2: fill(() => rng.float() * 1e-20),
  };
}
