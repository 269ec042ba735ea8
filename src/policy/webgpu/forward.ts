import { type Kernel, matmulNt, type Tiling } from '../../gpu/matmul.ts';
import type { Binding, Launch } from '../../gpu/plan.ts';
import type { PolicyShape } from '../engine.ts';
import type { Activations, Gradients } from './activations.ts';
import type { BatchBuffers } from './batchBuffers.ts';
import * as kernels from './kernels.ts';
import type { ParameterBuffers } from './parameters.ts';

/** Everything that the launches of a training step bind. */
export interface Stage {
  shape: PolicyShape;
  tiling: Tiling;
  attentionTiling: kernels.AttentionTiling;
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
 * x₀ = E[tokens]; in each layer x += Wout·attention(rotary(Wqkv·norm(x))), x += Wdown·gelu(Wup·norm(x)).
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
      kernels.rmsNorm(width, 'trained', true),
      trained,
      activations.output,
      parameters.weights('norm'),
      activations.hidden,
      activations.inverse,
      batch.field('rows'),
    ),
  );
  return launches;
}

function layerLaunches(stage: Stage, l: number): Launch[] {
  const { shape, tiling, parameters, batch, activations, positions, turns } = stage;
  const { width, hidden, heads } = shape;
  const size = { heads, headWidth: width / heads };
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const a = activations.layers[l]!;
  const output = activations.layers[l + 1]?.input ?? activations.output;
  const project = matmulNt({ m: 3 * width, k: width }, tiling, 'plain', 'n');
  const out = matmulNt({ m: width, k: width }, tiling, 'residual', 'n');
  const up = matmulNt({ m: hidden, k: width }, tiling, 'gelu', 'n');
  const down = matmulNt({ m: width, k: hidden }, tiling, 'residual', 'n');
  const norm = kernels.rmsNorm(width, 'n');
  return [
    launch(norm, positions, a.input, weights('norm1'), a.normed1, a.inverse1),
    launch(project, positions, a.normed1, weights('qkv'), a.qkv),
    launch(kernels.rotary(size, 'n', 1), positions, batch.field('positions'), turns, a.qkv),
    launch(
      kernels.attention(size, stage.attentionTiling, 'n'),
      positions,
      a.qkv,
      batch.field('starts'),
      a.o,
      a.lse,
    ),
    launch(out, positions, a.o, weights('out'), a.middle, a.input),
    launch(norm, positions, a.middle, weights('norm2'), a.normed2, a.inverse2),
    launch(up, positions, a.normed2, weights('up'), a.before, a.activated),
    launch(down, positions, a.activated, weights('down'), output, a.middle),
  ];
}
