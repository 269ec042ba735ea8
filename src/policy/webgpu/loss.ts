import type { Launch } from '../../gpu/plan.ts';
import type { VocabTile } from './activations.ts';
import { launch, type Stage } from './forward.ts';
import * as kernels from './kernels.ts';

/** Logits of the trained rows for one tile of the vocabulary, z = hidden · E[tile]ᵀ. */
export function logitsLaunch(stage: Stage, tile: VocabTile): Launch {
  const { shape, products, parameters, activations, trained } = stage;
  const product = products.nt({ m: tile.count, k: shape.width }, 'plain', 'trained');
  const embed = parameters.weights('embed', tile.base * shape.width);
  return launch(product, trained, activations.hidden, embed, activations.logits);
}

/** Width of a stored row of a tile's logits. */
export const tileColumns = (tile: VocabTile): number => Math.ceil(tile.count / 4) * 4;

/** Negative log-likelihood of the trained rows, streaming over the tiles of the vocabulary. */
export function lossLaunches(stage: Stage): Launch[] {
  const { activations, batch, trained } = stage;
  const { tiles, logits, softmax, nll } = activations;
  return tiles.flatMap((tile) => [
    logitsLaunch(stage, tile),
    launch(
      kernels.crossEntropy(tileColumns(tile), 'trained', stage.lossTiling(tileColumns(tile))),
      trained,
      tile.uniform,
      logits,
      batch.field('targets'),
      softmax,
      nll,
    ),
  ]);
}

/**
 * Gradient of the loss by the hidden rows (into `gradients.width`) and by the embedding, a tile at a time. Where one
 * tile holds the whole vocabulary its logits still stand from the forward pass; otherwise they are made again.
 */
export function lossBackwardLaunches(stage: Stage): Launch[] {
  const { shape, products, parameters, activations, gradients, batch, trained } = stage;
  const { tiles, logits, softmax, hidden } = activations;
  const slicing = { slices: parameters.slices, stride: parameters.count };
  return tiles.flatMap((tile, index) => {
    const size = { m: tile.count, k: shape.width };
    const from = tile.base * shape.width;
    const toHidden = products.nn(size, index === 0 ? 'plain' : 'accumulate', 'trained');
    return [
      ...(tiles.length > 1 ? [logitsLaunch(stage, tile)] : []),
      launch(
        kernels.crossEntropyBackward(tileColumns(tile), 'trained'),
        trained,
        tile.uniform,
        logits,
        softmax,
        batch.field('targets'),
        batch.field('shares'),
      ),
      launch(toHidden, trained, logits, parameters.weights('embed', from), gradients.width),
      launch(products.tn(size, slicing), trained, logits, hidden, parameters.slicedGradient('embed', from)),
    ];
  });
}
