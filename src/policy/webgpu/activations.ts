import { type Allocator, USAGE } from '../../gpu/memory.ts';
import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';

/** What one layer keeps of the forward pass for its gradient. Rows are positions; D width, H heads, F hidden units. */
export interface LayerActivations {
  /** The residual stream that enters the layer [N, D]: the output of the layer before. */
  input: GPUBuffer;
  /** 1/rms of the input [N] and the normalised input [N, D]. */
  inverse1: GPUBuffer;
  normed1: GPUBuffer;
  /** Fused queries, keys and values, turned by rotary [N, 3D]. */
  qkv: GPUBuffer;
  /** Attention's output [N, D] and log-sum-exp [N, H]. */
  o: GPUBuffer;
  lse: GPUBuffer;
  /** The residual stream after attention [N, D], and its norm. */
  middle: GPUBuffer;
  inverse2: GPUBuffer;
  normed2: GPUBuffer;
  /** The MLP before its non-linearity ([N, F], or [N, 2F] where gated) and after it [N, F]. */
  before: GPUBuffer;
  activated: GPUBuffer;
}

/** Columns of the vocabulary whose logits are held at a time: at least so many, a multiple of 64 … */
const LEAST_TILE = 1024;
/** … and more where all rows' logits of them stay within 16 MiB: logits of a second tile are made twice in a step. */
const LOGITS = 1 << 22;

function columnsOfTile(vocab: number, capacity: number): number {
  return Math.min(vocab, Math.max(LEAST_TILE, Math.floor(LOGITS / capacity / 64) * 64));
}

/** A tile of the vocabulary: ids base … base + count − 1. */
export interface VocabTile {
  base: number;
  count: number;
  /** Uniform (base, count) for the kernels. */
  uniform: GPUBuffer;
}

/** Buffers of the forward pass of up to `capacity` positions. */
export interface Activations {
  layers: LayerActivations[];
  /**
   * From the last attention on, only the R trained rows go on: their attention output and residual stream [R, D]. The
   * last layer's own buffers then hold R rows as well.
   */
  trainedO: GPUBuffer;
  trainedInput: GPUBuffer;
  /** The residual stream of the trained rows after the last layer [R, D]. */
  output: GPUBuffer;
  /** The same normalised [R, D], and 1/rms [R]. */
  inverse: GPUBuffer;
  hidden: GPUBuffer;
  tiles: VocabTile[];
  /** Stored columns of a row of `logits`. */
  columns: number;
  /** Logits of one tile [R, columns], then their gradient. */
  logits: GPUBuffer;
  /** Running softmax [R, 4] and negative log-likelihood [R]. */
  softmax: GPUBuffer;
  nll: GPUBuffer;
}

/** Buffers of the backward pass. */
export interface Gradients {
  /** ∂loss/∂residual stream [N, D], carried from the last layer to the embedding. */
  residual: GPUBuffer;
  /** The same for the trained rows alone, down to the last attention [R, D]. */
  trained: GPUBuffer;
  /** ∂/∂output of the last attention at all positions [N, D]. */
  attended: GPUBuffer;
  /** ∂/∂normalised rows or attention's output [N, D]. */
  width: GPUBuffer;
  qkv: GPUBuffer;
  delta: GPUBuffer;
  hidden: GPUBuffer;
}

/** Makes the buffers of the forward pass. */
export function createActivations(memory: Allocator, shape: PolicyShape, capacity: number): Activations {
  const { width, heads, hidden, layers, vocab } = shape;
  const rows = (label: string, columns: number) => memory.storage(label, capacity * columns);
  const stream = Array.from({ length: layers + 1 }, (_, l) => rows(`stream ${l}`, width));
  const tile = columnsOfTile(vocab, capacity);
  const columns = Math.ceil(tile / 4) * 4;
  return {
    layers: Array.from({ length: layers }, (_, l) => ({
      input: stream[l]!,
      inverse1: rows(`${l} inverse1`, 1),
      normed1: rows(`${l} normed1`, width),
      qkv: rows(`${l} qkv`, 3 * width),
      o: rows(`${l} attention`, width),
      lse: rows(`${l} lse`, heads),
      middle: rows(`${l} middle`, width),
      inverse2: rows(`${l} inverse2`, 1),
      normed2: rows(`${l} normed2`, width),
      before: rows(`${l} before activation`, upRows(shape)),
      activated: rows(`${l} activated`, hidden),
    })),
    trainedO: rows('trained attention', width),
    trainedInput: rows('trained stream', width),
    output: stream[layers]!,
    inverse: rows('inverse', 1),
    hidden: rows('hidden', width),
    tiles: createTiles(memory, vocab, tile),
    columns,
    logits: rows('logits', columns),
    softmax: rows('softmax', 4),
    nll: rows('nll', 1),
  };
}

function createTiles(memory: Allocator, vocab: number, tile: number): VocabTile[] {
  return Array.from({ length: Math.ceil(vocab / tile) }, (_, i) => {
    const base = i * tile;
    const count = Math.min(tile, vocab - base);
    const uniform = memory.create(`tile ${i}`, 16, USAGE.UNIFORM | USAGE.COPY_DST);
    memory.fill(uniform, () => new Uint32Array([base, count, 0, 0]));
    return { base, count, uniform };
  });
}

/** Makes the buffers of the backward pass. */
export function createGradients(memory: Allocator, shape: PolicyShape, capacity: number): Gradients {
  const rows = (label: string, columns: number) => memory.storage(label, capacity * columns);
  return {
    residual: rows('d residual', shape.width),
    trained: rows('d trained', shape.width),
    attended: rows('d attended', shape.width),
    width: rows('d width', shape.width),
    qkv: rows('d qkv', 3 * shape.width),
    delta: rows('delta', shape.heads),
    hidden: rows('d hidden', shape.hidden),
  };
}

/**
 * Cosine and sine of every position and pair [context, Dh/2, 2], p·10000^(−2i/Dh), made in float64 since WGSL's sin
 * is coarse at large angles.
 */
export function createTurns(memory: Allocator, shape: PolicyShape): GPUBuffer {
  const headWidth = shape.width / shape.heads;
  const half = headWidth / 2;
  const buffer = memory.storage('turns', shape.context * half * 2);
  memory.fill(buffer, () => {
    const turns = new Float32Array(shape.context * half * 2);
    for (let p = 0; p < shape.context; p++)
      for (let i = 0; i < half; i++) {
        const angle = p * 10000 ** ((-2 * i) / headWidth);
        turns[(p * half + i) * 2] = Math.cos(angle);
        turns[(p * half + i) * 2 + 1] = Math.sin(angle);
      }
    return turns;
  });
  return buffer;
}
