import type { PolicyShape } from './engine.ts';

/** One tensor inside the flat parameter buffer. Row-major; `offset` and sizes in elements. */
export interface Tensor {
  name: string;
  shape: number[];
  offset: number;
  size: number;
}

/**
 * The flat parameter buffer, in order: `embed` [V, D] (tied with the output projection); then for each layer l:
 * `l.norm1` [D], `l.qkv` [3D, D], `l.out` [D, D], `l.norm2` [D], `l.up` [F, D], `l.down` [D, F]; last `norm` [D].
 * A gated MLP has `l.up` [2F, D], the rows of the gate first.
 * Matrices are stored [out, in]: y = x · Wᵀ. Offsets are multiples of 64 elements (256 bytes, WebGPU's binding
 * alignment); the gap is zero and stays zero.
 */
export function layout(shape: PolicyShape): { tensors: Tensor[]; count: number } {
  const { vocab, width, layers, hidden } = shape;
  const tensors: Tensor[] = [];
  let offset = 0;
  const add = (name: string, ...dims: number[]) => {
    const size = dims.reduce((a, b) => a * b, 1);
    tensors.push({ name, shape: dims, offset, size });
    offset = Math.ceil((offset + size) / 64) * 64;
  };
  add('embed', vocab, width);
  for (let l = 0; l < layers; l++) {
    add(`${l}.norm1`, width);
    add(`${l}.qkv`, 3 * width, width);
    add(`${l}.out`, width, width);
    add(`${l}.norm2`, width);
    add(`${l}.up`, upRows(shape), width);
    add(`${l}.down`, width, hidden);
  }
  add('norm', width);
  return { tensors, count: offset };
}

/** Rows of `l.up`: the hidden units F, and their gates where the MLP is gated. */
export function upRows({ hidden, mlp }: PolicyShape): number {
  return mlp === 'swiglu' ? 2 * hidden : hidden;
}

/** Length of the flat parameter buffer, alignment gaps included. */
export function parameterCount(shape: PolicyShape): number {
  return layout(shape).count;
}
