import type { PackedBatch, PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import type { Ground, Machine } from './machine.ts';
import type { Block } from './memory.ts';

/** Floats of logits held at a time (2 MiB), and the rows that this may come to. */
const LOGITS = 1 << 19;
const FEWEST_ROWS = 32;
const MOST_ROWS = 256;

/** Rows whose logits are held at a time: a multiple of 4, from the vocabulary alone. */
export function logitRows(vocab: number): number {
  const fitting = Math.floor(LOGITS / rounded(vocab) / 4) * 4;
  return Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, fitting));
}

/** The next multiple of 4: the stride of a row of logits or scores. */
export const rounded = (count: number): number => Math.ceil(count / 4) * 4;

/**
 * What the forward pass leaves behind of one layer. Row-major; N rows in use, or the R chosen ones where the last layer has
 * left its attention behind (`mid` and on).
 */
type LayerField = 'x' | 'h1' | 'qkv' | 'o' | 'lse' | 'mid' | 'h2' | 'up' | 'act';

/** What a batch is, and the rows that go on after the last attention: `chosen` [R], their targets and weights. */
type BatchField = 'tokens' | 'starts' | 'positions' | 'chosen' | 'targets' | 'weights';

/**
 * Of the chosen rows: residual stream and attention's output of the last layer, the stream after it, the last norm [R, D], nll [R].
 * Gradients: `dxChosen` and `dh` [R or N, D], `dx` and `dOut` [N, D], `wide` [N, 3D or up's rows] of qkv or of the MLP,
 * `dAct` [N, F] of a gated MLP. Scratch for scores of attention and for logits.
 */
type StepField =
  | 'xChosen'
  | 'oChosen'
  | 'last'
  | 'h'
  | 'nll'
  | 'dxChosen'
  | 'dx'
  | 'dh'
  | 'dOut'
  | 'wide'
  | 'dAct'
  | 'scores'
  | 'logits';

/** All memory of a step for up to `rows` positions; nothing else is allocated between steps. */
export interface Workspace {
  rows: number;
  batch: Block<BatchField>['at'];
  layers: Block<LayerField>['at'][];
  step: Block<StepField>['at'];
  free(): void;
}

/** @throws LabError where the memory does not hold it. */
export function allocateWorkspace(ground: Ground, rows: number): Workspace {
  const { shape, memory, kernels } = ground;
  const purpose = {
    what: `a batch of ${rows} positions`,
    remedy: 'lower the tokens in a batch (more micro-batches), the width or the layers',
  };
  const blocks: { free(): void }[] = [];
  const take = <K extends string>(counts: Record<K, number>) => {
    const block = memory.allocate(counts, purpose);
    blocks.push(block);
    return block.at;
  };
  const free = () => {
    for (const block of blocks) block.free();
  };
  try {
    return {
      rows,
      batch: take({
        tokens: rows,
        starts: rows,
        positions: rows,
        chosen: rows,
        targets: rows,
        weights: rows,
      }),
      layers: Array.from({ length: shape.layers }, () => take(layerCounts(shape, rows))),
      step: take(stepCounts(shape, rows, Number(kernels.ATTENTION_ROWS.value))),
      free,
    };
  } catch (error) {
    free();
    throw error;
  }
}

function layerCounts(shape: PolicyShape, rows: number): Record<LayerField, number> {
  const face = rows * shape.width;
  return {
    x: face,
    h1: face,
    qkv: 3 * face,
    o: face,
    lse: rows * shape.heads,
    mid: face,
    h2: face,
    up: rows * upRows(shape),
    act: rows * shape.hidden,
  };
}

function stepCounts(shape: PolicyShape, rows: number, attentionRows: number): Record<StepField, number> {
  const { width, hidden, context, vocab, mlp } = shape;
  const face = rows * width;
  return {
    xChosen: face,
    oChosen: face,
    last: face,
    h: face,
    nll: rows,
    dxChosen: face,
    dx: face,
    dh: face,
    dOut: face,
    wide: rows * Math.max(3 * width, upRows(shape)),
    dAct: mlp === 'swiglu' ? rows * hidden : 0,
    scores: 2 * attentionRows * rounded(Math.min(rows, context)),
    logits: logitRows(vocab) * rounded(vocab),
  };
}

/** Writes a batch into the workspace; `chosen` are the rows whose logits are wanted. */
export function uploadBatch(
  { memory }: Machine,
  { batch: at }: Workspace,
  batch: PackedBatch,
  chosen: Int32Array,
): void {
  const n = batch.tokens.length;
  memory.ids(at.tokens, n).set(batch.tokens);
  memory.ids(at.starts, n).set(batch.starts);
  const positions = memory.ids(at.positions, n);
  for (let i = 0; i < n; i++) positions[i] = i - batch.starts[i]!;
  memory.ids(at.chosen, chosen.length).set(chosen);
  const targets = memory.ids(at.targets, chosen.length);
  const weights = memory.reals(at.weights, chosen.length);
  for (const [i, row] of chosen.entries()) {
    targets[i] = batch.targets[row]!;
    weights[i] = batch.weights[row]!;
  }
}
