import type { Kernel, Products } from '../../gpu/matmul.ts';
import type { Binding, Launch } from '../../gpu/plan.ts';
import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import type { Activations, Gradients } from './activations.ts';
import type { BatchBuffers } from './batchBuffers.ts';
import * as kernels from './kernels.ts';
import type { ParameterBuffers } from './parameters.ts';

/** Everything that the launches of a training step bind. */
export interface Stage {
  shape: PolicyShape;
  products: Products;
  attentionTiling: kernels.AttentionTiling;
  normTiling: kernels.RowTiling;
  /** For a tile of logits of so many columns. */
  lossTiling(columns: number): kernels.RowTiling;
  parameters: ParameterBuffers;
  batch: BatchBuffers;
  activations: Activations;
  gradients: Gradients;
  turns: GPUBuffer;
  /** Uniform dims over all N positions (sizes `n`, `distinct`) and over the R trained rows (`trained`). */
  positions: GPUBufferBinding;
  trained: GPUBufferBinding;
}

/** A kernel with its buffers. */
export const launch = (kernel: Kernel, ...bindings: Binding[]): Launch => ({ ...kernel, bindings });

/**
 * From tokens to the normalised hidden rows of the trained positions:
 * x₀ = E[tokens]; in each layer x += Wout·attention(rotary(Wqkv·norm(x))), x += Wdown·gelu(Wup·norm(x)), or
 * Wdown·swiglu(Wup·norm(x)).
 */
export function forwardLaunches(stage: Stage): Launch[] {
  const { shape, parameters, batch, activations, positions, trained } = stage;
  const { width } = shape;
  const launches = [
    launch(
      kernels.embedGather(width, 'n'),
      positions,
      batch.field('tokens'),
      parameters.weights('embed'),
      activations.layers[0]!.input,
    ),
  ];
  for (let l = 0; l < shape.layers; l++) launches.push(...layerLaunches(stage, l));
  launches.push(
    launch(
      kernels.rmsNorm(width, 'trained', stage.normTiling),
      trained,
      activations.output,
      parameters.weights('norm'),
      activations.hidden,
      activations.inverse,
    ),
  );
  return launches;
}

/** The rows of a layer's second half: all positions, but in the last layer the trained ones alone. */
export function restOf(stage: Stage, l: number) {
  const { shape, activations, gradients, positions, trained } = stage;
  const { o, input } = activations.layers[l]!;
  if (l < shape.layers - 1) return { dims: positions, rows: 'n', o, input, residual: gradients.residual };
  const { trainedO, trainedInput } = activations;
  return { dims: trained, rows: 'trained', o: trainedO, input: trainedInput, residual: gradients.trained };
}

function layerLaunches(stage: Stage, l: number): Launch[] {
  return [...attentionLaunches(stage, l), ...mlpLaunches(stage, l)];
}

/** Up to the output of the attention. Behind the last one, untrained rows are left out: nothing looks at them again. */
function attentionLaunches(stage: Stage, l: number): Launch[] {
  const { shape, products, parameters, batch, activations, positions, trained, turns } = stage;
  const { width, heads } = shape;
  const size = { heads, headWidth: width / heads };
  const a = activations.layers[l]!;
  const project = products.nt({ m: 3 * width, k: width }, 'plain', 'n');
  const norm = parameters.weights(`${l}.norm1`);
  const rest = restOf(stage, l);
  const gather = (all: GPUBuffer, some: GPUBuffer) =>
    launch(kernels.embedGather(width, 'trained'), trained, batch.field('rows'), all, some);
  return [
    launch(kernels.rmsNorm(width, 'n', stage.normTiling), positions, a.input, norm, a.normed1, a.inverse1),
    launch(project, positions, a.normed1, parameters.weights(`${l}.qkv`), a.qkv),
    launch(kernels.rotary(size, 'n', 1), positions, batch.field('positions'), turns, a.qkv),
    launch(
      kernels.attention(size, stage.attentionTiling, 'n'),
      positions,
      a.qkv,
      batch.field('starts'),
      a.o,
      a.lse,
    ),
    ...(rest.o === a.o ? [] : [gather(a.o, rest.o), gather(a.input, rest.input)]),
  ];
}

/** The output projection and the MLP. */
function mlpLaunches(stage: Stage, l: number): Launch[] {
  const { shape, products, parameters, activations } = stage;
  const { width, hidden } = shape;
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const a = activations.layers[l]!;
  const { dims, rows, o, input } = restOf(stage, l);
  const output = activations.layers[l + 1]?.input ?? activations.output;
  const out = products.nt({ m: width, k: width }, 'residual', rows);
  const down = products.nt({ m: width, k: hidden }, 'residual', rows);
  return [
    launch(out, dims, o, weights('out'), a.middle, input),
    launch(
      kernels.rmsNorm(width, rows, stage.normTiling),
      dims,
      a.middle,
      weights('norm2'),
      a.normed2,
      a.inverse2,
    ),
    ...activateLaunches(
      shape,
      products,
      { rows },
      {
        dims,
        normed: a.normed2,
        up: weights('up'),
        before: a.before,
        activated: a.activated,
      },
    ),
    launch(down, dims, a.activated, weights('down'), output, a.middle),
  ];
}

/** What the first half of an MLP binds: normed [N, D], up [F or 2F, D] → before [N, F or 2F], activated [N, F]. */
export interface Activate {
  dims: Binding;
  normed: Binding;
  up: Binding;
  before: Binding;
  activated: Binding;
}

/** From the normalised rows to the hidden units. gelu is part of its product; the halves of a gate meet in a kernel. */
export function activateLaunches(
  shape: PolicyShape,
  products: Products,
  { rows, most }: { rows: string; most?: number },
  { dims, normed, up, before, activated }: Activate,
): Launch[] {
  const size = { m: upRows(shape), k: shape.width };
  if (shape.mlp !== 'swiglu')
    return [launch(products.nt(size, 'gelu', rows, most), dims, normed, up, before, activated)];
  return [
    launch(products.nt(size, 'plain', rows, most), dims, normed, up, before),
    launch(kernels.swiglu(shape.hidden, rows), dims, before, activated),
  ];
}
