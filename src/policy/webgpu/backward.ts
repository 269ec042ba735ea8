import { matmulNn, matmulTn } from '../../gpu/matmul.ts';
import type { Launch } from '../../gpu/plan.ts';
import { launch, type Stage } from './forward.ts';
import * as kernels from './kernels.ts';

/**
 * From the gradient by the hidden rows (in `gradients.width`) to the gradient of every parameter, as partial sums.
 * `gradients.residual` must be 0 when this begins: rows that are not trained have no gradient of their own.
 */
export function backwardLaunches(stage: Stage): Launch[] {
  const { shape, parameters, batch, activations, gradients, positions, trained } = stage;
  const { width } = shape;
  const { output, inverse } = activations;
  const rows = batch.field('rows');
  const dNorm = parameters.slicedGradient('norm');
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const launches = [
    launch(kernels.rmsNormGain(width, slicing, true), trained, output, gradients.width, inverse, dNorm, rows),
    launch(
      kernels.rmsNormBackward(width, 'trained', true),
      trained,
      output,
      parameters.weights('norm'),
      gradients.width,
      inverse,
      gradients.residual,
      rows,
    ),
  ];
  for (let l = shape.layers - 1; l >= 0; l--)
    launches.push(...mlpLaunches(stage, l), ...attentionLaunches(stage, l));
  launches.push(
    launch(
      kernels.embedScatter(width),
      positions,
      batch.field('distinct'),
      batch.field('bounds'),
      batch.field('order'),
      gradients.residual,
      parameters.slicedGradient('embed'),
    ),
  );
  return launches;
}

/** Through x += Wdown·gelu(Wup·norm(x)). */
function mlpLaunches(stage: Stage, l: number): Launch[] {
  const { shape, tiling, parameters, activations, gradients, positions } = stage;
  const { width, hidden } = shape;
  const a = activations.layers[l]!;
  const { residual } = gradients;
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const gradient = (name: string) => parameters.slicedGradient(`${l}.${name}`);
  const down = { m: width, k: hidden };
  const up = { m: hidden, k: width };
  return [
    launch(matmulTn(down, tiling, slicing), positions, residual, a.activated, gradient('down')),
    launch(
      matmulNn(down, tiling, 'geluBackward', 'n'),
      positions,
      residual,
      weights('down'),
      gradients.hidden,
      a.before,
    ),
    launch(matmulTn(up, tiling, slicing), positions, gradients.hidden, a.normed2, gradient('up')),
    launch(matmulNn(up, tiling, 'plain', 'n'), positions, gradients.hidden, weights('up'), gradients.width),
    ...normLaunches(stage, a.middle, a.inverse2, `${l}.norm2`),
  ];
}

/** Through x += Wout·attention(rotary(Wqkv·norm(x))). */
function attentionLaunches(stage: Stage, l: number): Launch[] {
  const { shape, tiling, parameters, batch, activations, gradients, positions, turns } = stage;
  const { width, heads } = shape;
  const a = activations.layers[l]!;
  const { residual, qkv, delta } = gradients;
  const size = { heads, headWidth: width / heads };
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const gradient = (name: string) => parameters.slicedGradient(`${l}.${name}`);
  const out = { m: width, k: width };
  const project = { m: 3 * width, k: width };
  return [
    launch(matmulTn(out, tiling, slicing), positions, residual, a.o, gradient('out')),
    launch(matmulNn(out, tiling, 'plain', 'n'), positions, residual, weights('out'), gradients.width),
    launch(
      kernels.attentionBackwardQ(size, stage.attentionTiling, 'n'),
      positions,
      a.qkv,
      batch.field('starts'),
      a.o,
      a.lse,
      gradients.width,
      qkv,
      delta,
    ),
    launch(
      kernels.attentionBackwardKv(size, stage.attentionTiling, 'n'),
      positions,
      a.qkv,
      batch.field('ends'),
      a.lse,
      delta,
      gradients.width,
      qkv,
    ),
    launch(kernels.rotary(size, 'n', -1), positions, batch.field('positions'), turns, qkv),
    launch(matmulTn(project, tiling, slicing), positions, qkv, a.normed1, gradient('qkv')),
    launch(matmulNn(project, tiling, 'plain', 'n'), positions, qkv, weights('qkv'), gradients.width),
    ...normLaunches(stage, a.input, a.inverse1, `${l}.norm1`),
  ];
}

/** Through a normalisation: its gain, then the residual stream, both from `gradients.width`. */
function normLaunches(stage: Stage, x: GPUBuffer, inverse: GPUBuffer, name: string): Launch[] {
  const { shape, parameters, gradients, positions } = stage;
  const slicing = { slices: parameters.slices, stride: parameters.count };
  return [
    launch(
      kernels.rmsNormGain(shape.width, slicing),
      positions,
      x,
      gradients.width,
      inverse,
      parameters.slicedGradient(name),
    ),
    launch(
      kernels.rmsNormBackward(shape.width, 'n'),
      positions,
      x,
      parameters.weights(name),
      gradients.width,
      inverse,
      gradients.residual,
    ),
  ];
}
