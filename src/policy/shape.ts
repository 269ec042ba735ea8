import { LabError } from '../base/errors.ts';
import type { Checkpoint, PolicyShape } from './engine.ts';
import { parameterCount, upRows } from './layout.ts';

/** Largest size of any one dimension; keeps the products of two of them exact and far below array limits. */
const LARGEST = 1 << 20;
/** Kinds of MLP. */
const MLPS = ['gelu', 'swiglu'] as const satisfies PolicyShape['mlp'][];
/** Most parameters (1 GiB of float32): WebGPU's and V8's buffers end there, and a damaged file asks for no more. */
const MOST_PARAMETERS = 1 << 28;

/**
 * Checks that a shape describes a transformer that the engines can build.
 * @throws LabError naming the field: the MLP is one that there is, sizes are positive whole numbers, the width a multiple
 * of 4 and of the heads, each head of even width (rotary positions turn pairs), at most 2²⁸ parameters.
 */
export function checkShape(shape: PolicyShape): void {
  const refuse = (what: string, field: string, remedy: string): never => {
    throw new LabError(what, { where: `shape.${field}`, remedy });
  };
  for (const field of ['vocab', 'width', 'layers', 'heads', 'hidden', 'context'] as const) {
    const size = shape[field];
    if (!Number.isInteger(size) || size < 1 || size > LARGEST)
      refuse(`${field} is ${size}`, field, `give a whole number from 1 to ${LARGEST}`);
  }
  const { vocab, width, layers, heads, hidden } = shape;
  if (shape.mlp !== undefined && !(MLPS as readonly unknown[]).includes(shape.mlp))
    refuse(`there is no MLP ${JSON.stringify(shape.mlp)}`, 'mlp', `choose one of: ${MLPS.join(', ')}`);
  if (width % 4 !== 0)
    refuse(`width ${width} is not a multiple of 4`, 'width', 'round it up to a multiple of 4');
  if (width % heads !== 0)
    refuse(`width ${width} does not divide into ${heads} heads`, 'heads', 'choose a divisor of the width');
  if ((width / heads) % 2 !== 0)
    refuse(`each of ${heads} heads has odd width ${width / heads}`, 'heads', 'make width / heads even');
  const parameters = vocab * width + layers * width * (4 * width + upRows(shape) + hidden + 2) + width;
  if (parameters > MOST_PARAMETERS)
    refuse(
      `${parameters} parameters`,
      'width',
      `choose sizes with at most ${MOST_PARAMETERS} parameters in all`,
    );
}

/**
 * Checks a shape for the kernels, which read whole vec4s of hidden units.
 * @throws LabError as `checkShape` does, and where hidden is no multiple of 4.
 */
export function checkWebGpuShape(shape: PolicyShape): void {
  checkShape(shape);
  if (shape.hidden % 4 !== 0)
    throw new LabError(`hidden ${shape.hidden} is not a multiple of 4`, {
      where: 'shape.hidden',
      remedy: 'round it up to a multiple of 4',
    });
}

/** True where two shapes agree in every size and in the kind of MLP. */
export function sameShape(a: PolicyShape, b: PolicyShape): boolean {
  const sizes = (['vocab', 'width', 'layers', 'heads', 'hidden', 'context'] as const).every(
    (f) => a[f] === b[f],
  );
  return sizes && (a.mlp ?? 'gelu') === (b.mlp ?? 'gelu');
}

/**
 * Checks that a checkpoint is whole and, where `shape` is given, that it belongs to a policy of that shape.
 * @throws LabError where the shape differs, an array has the wrong length, a number is not finite, a second moment
 * is negative or the step is not a whole number ≥ 0.
 */
export function checkCheckpoint(checkpoint: Checkpoint, shape: PolicyShape = checkpoint.shape): void {
  checkShape(checkpoint.shape);
  if (!sameShape(checkpoint.shape, shape))
    throw new LabError('the checkpoint belongs to a policy of another shape', {
      where: 'checkpoint.shape',
      remedy: `load it into a policy of shape ${JSON.stringify(checkpoint.shape)}`,
    });
  if (!Number.isInteger(checkpoint.step) || checkpoint.step < 0)
    throw new LabError(`the step is ${checkpoint.step}`, {
      where: 'checkpoint.step',
      remedy: 'give a whole number ≥ 0',
    });
  const count = parameterCount(shape);
  for (const field of ['parameters', 'moment1', 'moment2'] as const) {
    const values = checkpoint[field];
    const where = `checkpoint.${field}`;
    if (values.length !== count)
      throw new LabError(`${values.length} numbers where the shape needs ${count}`, {
        where,
        remedy: 'load the checkpoint from an undamaged file',
      });
    const bad = values.findIndex((x) => !Number.isFinite(x) || (field === 'moment2' && x < 0));
    if (bad >= 0)
      throw new LabError(`entry ${bad} is ${values[bad]}`, {
        where,
        remedy: 'take a checkpoint from before the training diverged',
        kind: 'not a number',
      });
  }
}
