import type { PolicyShape } from '../engine.ts';
import { layout, type Tensor } from '../layout.ts';
import { ROTARY_BASE } from '../twin/rotary.ts';
import { type Address, type Kernels, openKernels } from './kernels.ts';
import { type Allocator, type Block, LinearMemory } from './memory.ts';

/** Addresses of one layer's tensors in a flat buffer; shapes as in `layout`. */
export interface LayerWeights {
  norm1: Address;
  qkv: Address;
  out: Address;
  norm2: Address;
  up: Address;
  down: Address;
}

/** Addresses of all tensors in a flat buffer of parameters or of their gradient. */
export interface Weights {
  embed: Address;
  layers: LayerWeights[];
  norm: Address;
}

/** What an engine and its samplers share: kernels, memory, and the policy in it. */
export interface Machine {
  shape: PolicyShape;
  headWidth: number;
  kernels: Kernels;
  memory: LinearMemory;
  tensors: Tensor[];
  /** Entries of each flat buffer. */
  count: number;
  /** The flat buffers, and the turns of `rotary` [C, Dh]. */
  at: Block<'parameters' | 'gradient' | 'moment1' | 'moment2' | 'turns' | 'strips'>['at'];
  weights: Weights;
  gradients: Weights;
}

/** What the sizes of an engine's memory follow from. */
export interface Ground {
  shape: PolicyShape;
  headWidth: number;
  kernels: Pick<Kernels, 'ATTENTION_ROWS' | 'PRODUCT_SCRATCH'>;
  memory: Allocator;
}

/** Room for the policy itself. @throws LabError where the memory does not hold it. */
export function allocatePolicy({ shape, headWidth, kernels, memory }: Ground): Pick<Machine, 'at'> {
  const { count } = layout(shape);
  return memory.allocate(
    {
      parameters: count,
      gradient: count,
      moment1: count,
      moment2: count,
      turns: shape.context * headWidth,
      strips: Number(kernels.PRODUCT_SCRATCH.value) / 4,
    },
    { what: 'a policy of this shape', remedy: 'lower the width, the layers, the vocabulary or the context' },
  );
}

/**
 * Opens kernels and memory for a policy of a checked shape. Parameters are not set.
 * @throws LabError where the memory does not hold the policy.
 */
export async function openMachine(shape: PolicyShape): Promise<Machine> {
  const memory = new LinearMemory();
  const kernels = await openKernels(memory.memory);
  const { tensors, count } = layout(shape);
  const headWidth = shape.width / shape.heads;
  const { at } = allocatePolicy({ shape, headWidth, kernels, memory });
  kernels.setProductScratch(at.strips);
  memory.reals(at.turns, shape.context * headWidth).set(turns(shape.context, headWidth));
  const weights = weightsAt(shape, tensors, at.parameters);
  const gradients = weightsAt(shape, tensors, at.gradient);
  return { shape, headWidth, kernels, memory, tensors, count, at, weights, gradients };
}

/** What `rotary` turns by: of each position p, cos and then sin of p·10000^(−2i/Dh) for i < Dh/2. Computed in float64. */
export function turns(context: number, headWidth: number): Float32Array {
  const half = headWidth / 2;
  const table = new Float32Array(context * headWidth);
  for (let i = 0; i < half; i++) {
    const frequency = ROTARY_BASE ** ((-2 * i) / headWidth);
    for (let p = 0; p < context; p++) {
      table[p * headWidth + i] = Math.cos(p * frequency);
      table[p * headWidth + half + i] = Math.sin(p * frequency);
    }
  }
  return table;
}

function weightsAt(shape: PolicyShape, tensors: readonly Tensor[], base: Address): Weights {
  const places = new Map(tensors.map(({ name, offset }) => [name, base + 4 * offset]));
  const place = (name: string) => places.get(name)!;
  return {
    embed: place('embed'),
    layers: Array.from({ length: shape.layers }, (_, l) => ({
      norm1: place(`${l}.norm1`),
      qkv: place(`${l}.qkv`),
      out: place(`${l}.out`),
      norm2: place(`${l}.norm2`),
      up: place(`${l}.up`),
      down: place(`${l}.down`),
    })),
    norm: place('norm'),
  };
}
