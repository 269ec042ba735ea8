import type { Launch } from '../../gpu/plan.ts';
import { upRows } from '../layout.ts';
import { launch, restOf, type Stage } from './forward.ts';
import * as kernels from './kernels.ts';

/**
 * From the gradient by the hidden rows (in `gradients.width`) to the gradient of every parameter, as partial sums.
 * `gradients.trained` must be 0 when this begins; it carries the trained rows to the last attention, from where
 * `gradients.residual` carries all positions to the embedding.
 */
export function backwardLaunches(stage: Stage): Launch[] {
  const { shape, parameters, batch, activations, gradients, positions, trained } = stage;
  const { output, inverse } = activations;
  const top = { dims: trained, rows: 'trained', residual: gradients.trained };
  const launches = normLaunches(stage, top, output, inverse, 'norm');
  for (let l = shape.layers - 1; l >= 0; l--)
    launches.push(...mlpLaunches(stage, l), ...outLaunches(stage, l), ...attentionLaunches(stage, l));
  launches.push(
    launch(
      kernels.embedScatter(shape.width),
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

/** Through x += Wdown·gelu(Wup·norm(x)), or the same with swiglu, whose gradient takes the place of its input. */
function mlpLaunches(stage: Stage, l: number): Launch[] {
  const { shape, products, parameters, activations, gradients } = stage;
  const { width, hidden } = shape;
  const a = activations.layers[l]!;
  const rest = restOf(stage, l);
  const { dims, rows, residual } = rest;
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const weights = (name: string) => parameters.weights(`${l}.${name}`);
  const gradient = (name: string) => parameters.slicedGradient(`${l}.${name}`);
  const down = { m: width, k: hidden };
  const up = { m: upRows(shape), k: width };
  const gated = shape.mlp === 'swiglu';
  const dBefore = gated ? a.before : gradients.hidden;
  const through = gated
    ? [
        launch(products.nn(down, 'plain', rows), dims, residual, weights('down'), gradients.hidden),
        launch(kernels.swigluBackward(hidden, rows), dims, gradients.hidden, a.before),
      ]
    : [
        launch(
          products.nn(down, 'geluBackward', rows),
          dims,
          residual,
          weights('down'),
          gradients.hidden,
          a.before,
        ),
      ];
  return [
    launch(products.tn(down, slicing), dims, residual, a.activated, gradient('down')),
    ...through,
    launch(products.tn(up, slicing), dims, dBefore, a.normed2, gradient('up')),
    launch(products.nn(up, 'plain', rows), dims, dBefore, weights('up'), gradients.width),
    ...normLaunches(stage, rest, a.middle, a.inverse2, `${l}.norm2`),
  ];
}

/** Through the output projection; behind the last attention, back from the trained rows to all positions. */
function outLaunches(stage: Stage, l: number): Launch[] {
  const { shape, products, parameters, batch, gradients, positions } = stage;
  const { width } = shape;
  const { dims, rows, o, residual } = restOf(stage, l);
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const out = { m: width, k: width };
  const spread = (some: GPUBuffer, all: GPUBuffer) =>
    launch(kernels.spreadRows(width, 'n'), positions, batch.field('places'), some, all);
  return [
    launch(products.tn(out, slicing), dims, residual, o, parameters.slicedGradient(`${l}.out`)),
    launch(products.nn(out, 'plain', rows), dims, residual, parameters.weights(`${l}.out`), gradients.width),
    ...(residual === gradients.residual
      ? []
      : [spread(gradients.width, gradients.attended), spread(residual, gradients.residual)]),
  ];
}

/** Through attention(rotary(Wqkv·norm(x))). */
function attentionLaunches(stage: Stage, l: number): Launch[] {
  const { shape, products, attentionTiling, parameters, batch, activations, gradients, positions, turns } =
    stage;
  const { width, heads } = shape;
  const a = activations.layers[l]!;
  const { qkv, delta, residual } = gradients;
  const dOut = l === shape.layers - 1 ? gradients.attended : gradients.width;
  const size = { heads, headWidth: width / heads };
  const slicing = { slices: parameters.slices, stride: parameters.count };
  const project = { m: 3 * width, k: width };
  const toQueries = kernels.attentionBackwardQ(size, attentionTiling, 'n');
  const toKeys = kernels.attentionBackwardKv(size, attentionTiling, 'n');
  const all = { dims: positions, rows: 'n', residual };
  return [
    launch(toQueries, positions, a.qkv, batch.field('starts'), a.o, a.lse, dOut, qkv, delta),
    launch(toKeys, positions, a.qkv, batch.field('ends'), a.lse, delta, dOut, qkv),
    launch(kernels.rotary(size, 'n', -1), positions, batch.field('positions'), turns, qkv),
    launch(products.tn(project, slicing), positions, qkv, a.normed1, parameters.slicedGradient(`${l}.qkv`)),
    launch(
      products.nn(project, 'plain', 'n'),
      positions,
      qkv,
      parameters.weights(`${l}.qkv`),
      gradients.width,
    ),
    ...normLaunches(stage, all, a.input, a.inverse1, `${l}.norm1`),
  ];
}

/** Rows that a normalisation ran over, and where the gradient of their residual stream stands. */
interface NormRows {
  dims: GPUBufferBinding;
  rows: string;
  residual: GPUBuffer;
}

/** Through a normalisation of x: its gain, then the residual stream, both from `gradients.width`. */
function normLaunches(
  stage: Stage,
  { dims, rows, residual }: NormRows,
  x: GPUBuffer,
  inverse: GPUBuffer,
  name: string,
): Launch[] {
  const { shape, parameters, gradients } = stage;
  const dy = gradients.width;
  const gain = kernels.rmsNormGain(shape.width, { slices: parameters.slices, stride: parameters.count });
  const through = kernels.rmsNormBackward(shape.width, rows, stage.normTiling);
  return [
    launch(gain, dims, x, dy, inverse, parameters.slicedGradient(name)),
    launch(through, dims, x, parameters.weights(name), dy, inverse, residual),
  ];
}
