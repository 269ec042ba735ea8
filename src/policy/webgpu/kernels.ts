import adamwSource from '../../../shaders/adamw.wgsl?raw';
import attentionSource from '../../../shaders/attention.wgsl?raw';
import attentionKvSource from '../../../shaders/attention_backward_kv.wgsl?raw';
import attentionQSource from '../../../shaders/attention_backward_q.wgsl?raw';
import cachedAttentionSource from '../../../shaders/cached_attention.wgsl?raw';
import compactSource from '../../../shaders/compact.wgsl?raw';
import crossEntropySource from '../../../shaders/cross_entropy.wgsl?raw';
import crossEntropyBackwardSource from '../../../shaders/cross_entropy_backward.wgsl?raw';
import gatherSource from '../../../shaders/embed_gather.wgsl?raw';
import scatterSource from '../../../shaders/embed_scatter.wgsl?raw';
import gradNormSource from '../../../shaders/grad_norm.wgsl?raw';
import normSource from '../../../shaders/rms_norm.wgsl?raw';
import normBackwardSource from '../../../shaders/rms_norm_backward.wgsl?raw';
import normGainSource from '../../../shaders/rms_norm_gain.wgsl?raw';
import rotarySource from '../../../shaders/rotary.wgsl?raw';
import sampleSource from '../../../shaders/sample.wgsl?raw';
import spreadSource from '../../../shaders/spread_rows.wgsl?raw';
import summarySource from '../../../shaders/step_summary.wgsl?raw';
import swigluSource from '../../../shaders/swiglu.wgsl?raw';
import swigluBackwardSource from '../../../shaders/swiglu_backward.wgsl?raw';
import type { Kernel, Slicing } from '../../gpu/matmul.ts';
import { type Constants, wgsl } from '../../gpu/wgsl.ts';

/** Sizes of the heads: D = heads · headWidth. */
export interface HeadSize {
  heads: number;
  headWidth: number;
}

/** Each builder gives the text of one kernel at literal sizes; `rows` names the size that counts its rows. */
function kernel(label: string, source: string, constants: Constants, threads: Kernel['threads']): Kernel {
  return { label, code: wgsl(source, constants), threads };
}

/** Bindings: dims, tokens (or any list of rows), embed (or any array of rows), x. */
export const embedGather = (d: number, rows: string): Kernel =>
  kernel('embed_gather', gatherSource, { D4: d / 4 }, (s) => (s[rows]! * d) / 4);

/** Bindings: dims, places, x, y. */
export const spreadRows = (d: number, rows: string): Kernel =>
  kernel('spread_rows', spreadSource, { D4: d / 4 }, (s) => (s[rows]! * d) / 4);

/** Bindings: dims (with `distinct`), distinct, bounds, order, dx, dE. */
export const embedScatter = (d: number): Kernel =>
  kernel('embed_scatter', scatterSource, { D4: d / 4 }, (s) => (s.distinct! * d) / 4);

/** Threads that share a row, a power of 2. */
export interface RowTiling {
  lanes: number;
}

const ALONE: RowTiling = { lanes: 1 };

/** Neighbouring threads read neighbouring vec4s of a row on a GPU, two each; on a processor a thread walks a row alone. */
export function normTilingFor(software: boolean, d: number): RowTiling {
  if (software) return ALONE;
  return { lanes: Math.min(64, 2 ** Math.max(0, Math.floor(Math.log2(d / 8)))) };
}

/** The same for a tile of logits, whose rows are many in training. */
export const lossTilingFor = (software: boolean, columns: number): RowTiling =>
  software ? ALONE : rowTilingFor(software, columns);

/** Bindings: dims, x, gain, y, inverse. */
export const rmsNorm = (d: number, rows: string, { lanes }: RowTiling = ALONE): Kernel =>
  kernel('rms_norm', normSource, { D4: d / 4, LANES: lanes, PARALLEL: lanes > 1 }, (s) => s[rows]! * lanes);

/** Bindings: dims, x, gain, dy, inverse, dx. */
export const rmsNormBackward = (d: number, rows: string, { lanes }: RowTiling = ALONE): Kernel =>
  kernel(
    'rms_norm_backward',
    normBackwardSource,
    { D4: d / 4, LANES: lanes, PARALLEL: lanes > 1 },
    (s) => s[rows]! * lanes,
  );

/** Bindings: dims, x, dy, inverse, d_gain (sliced). */
export const rmsNormGain = (d: number, slicing: Slicing): Kernel =>
  kernel(
    'rms_norm_gain',
    normGainSource,
    { D4: d / 4, SLICES: slicing.slices, STRIDE4: slicing.stride / 4 },
    () => (slicing.slices * d) / 4,
  );

/** Bindings: dims, positions, turns, qkv. */
export const rotary = ({ heads, headWidth }: HeadSize, rows: string, direction: 1 | -1): Kernel =>
  kernel(
    'rotary',
    rotarySource,
    {
      HEADS: heads,
      HALF: headWidth / 2,
      WIDTH: heads * headWidth,
      CONTEXT: 0,
      BACKWARD: direction < 0,
      CACHE: false,
    },
    (s) => s[rows]! * heads,
  );

/** Bindings: dims, positions, turns, qkv, rollouts, keys, values. */
export const rotaryIntoCache = ({ heads, headWidth }: HeadSize, context: number, rows: string): Kernel =>
  kernel(
    'rotary',
    rotarySource,
    {
      HEADS: heads,
      HALF: headWidth / 2,
      WIDTH: heads * headWidth,
      CONTEXT: context,
      BACKWARD: false,
      CACHE: true,
    },
    (s) => s[rows]! * heads,
  );

/** Bindings: dims, before [N, 2F], activated [N, F]. */
export const swiglu = (f: number, rows: string): Kernel =>
  kernel('swiglu', swigluSource, { F4: f / 4 }, (s) => (s[rows]! * f) / 4);

/** Bindings: dims, d_activated [N, F], before [N, 2F], which becomes its own gradient. */
export const swigluBackward = (f: number, rows: string): Kernel =>
  kernel('swiglu_backward', swigluBackwardSource, { F4: f / 4 }, (s) => (s[rows]! * f) / 4);

/** How the attention kernels read a head: as vec4s, or as vec2s where its width is no multiple of 4. */
export function headConstants({ heads, headWidth }: HeadSize): Constants {
  const lanes = headWidth % 4 === 0 ? 4 : 2;
  return {
    VEC: `vec${lanes}f`,
    HEADS: heads,
    HEAD_VECS: headWidth / lanes,
    WIDTH_VECS: (heads * headWidth) / lanes,
    SCALE: 1 / Math.sqrt(headWidth),
  };
}

/** How packed attention is spread: rows of one head a thread, invocations in a workgroup. */
export interface AttentionTiling {
  block: number;
  workgroup: number;
}

/** Rows of a thread share loads, which a processor gains by; a GPU wants the threads. */
export const attentionTilingFor = (software: boolean): AttentionTiling =>
  software ? { block: 4, workgroup: 16 } : { block: 1, workgroup: 64 };

function packedAttention(
  label: string,
  source: string,
  size: HeadSize,
  tiling: AttentionTiling,
  rows: string,
): Kernel {
  const constants = { ...headConstants(size), BLOCK: tiling.block, WORKGROUP: tiling.workgroup };
  return kernel(label, source, constants, (s) => Math.ceil(s[rows]! / tiling.block) * size.heads);
}

/** Bindings: dims, qkv, starts, o, lse. */
export const attention = (size: HeadSize, tiling: AttentionTiling, rows: string): Kernel =>
  packedAttention('attention', attentionSource, size, tiling, rows);

/** Bindings: dims, qkv, starts, o, lse, d_o, d_qkv, delta. */
export const attentionBackwardQ = (size: HeadSize, tiling: AttentionTiling, rows: string): Kernel =>
  packedAttention('attention_backward_q', attentionQSource, size, tiling, rows);

/** Bindings: dims, qkv, ends, lse, delta, d_o, d_qkv. */
export const attentionBackwardKv = (size: HeadSize, tiling: AttentionTiling, rows: string): Kernel =>
  packedAttention('attention_backward_kv', attentionKvSource, size, tiling, rows);

/** Bindings: dims, tile, z, targets, state, nll. `columns` is the stored width of a row of z, a multiple of 4. */
export const crossEntropy = (columns: number, rows: string, { lanes }: RowTiling = ALONE): Kernel =>
  kernel(
    'cross_entropy',
    crossEntropySource,
    { COLUMNS4: columns / 4, LANES: lanes, PARALLEL: lanes > 1, WORKGROUP: lanes > 1 ? lanes : 64 },
    (s) => s[rows]! * lanes,
  );

/** Bindings: dims, tile, z, state, targets, shares. */
export const crossEntropyBackward = (columns: number, rows: string): Kernel =>
  kernel(
    'cross_entropy_backward',
    crossEntropyBackwardSource,
    { COLUMNS4: columns / 4 },
    (s) => (s[rows]! * columns) / 4,
  );

/** Vec4s that one thread of `gradNorm` adds up. */
const RUN = 16;

/** How many partial sums of squares `gradNorm` leaves for `count` parameters. */
export const normThreads = (count: number): number => Math.ceil(count / 4 / RUN);

/** Bindings: step, partials, gradient, squares. */
export const gradNorm = (count: number, slices: number): Kernel =>
  kernel(
    'grad_norm',
    gradNormSource,
    { COUNT4: count / 4, SLICES: slices, THREADS: normThreads(count) },
    () => normThreads(count),
  );

/** Bindings: dims of the trained rows, step, squares, nll, shares, summary, ring. */
export const stepSummary = (count: number): Kernel =>
  kernel('step_summary', summarySource, { THREADS: normThreads(count) }, () => 1);

/** Bindings: step, gradient, summary, decays, parameters, moment1, moment2. */
export const adamw = (count: number): Kernel =>
  kernel('adamw', adamwSource, { COUNT4: count / 4 }, () => count / 4);

/** How attention over the cache is spread: threads of a row and head, invocations in a workgroup; powers of 2. */
export interface CacheTiling {
  parts: number;
  workgroup: number;
}

/**
 * Decoding has but one row a rollout, which leaves a GPU idle unless several threads share a row; a processor gains
 * nothing by that. The parts of a workgroup meet in 8 KiB of its memory.
 */
export function cacheTilingFor(software: boolean, { headWidth }: HeadSize): CacheTiling {
  if (software) return { parts: 1, workgroup: 64 };
  const most = 2 ** Math.floor(Math.log2(2048 / headWidth));
  const workgroup = Math.min(64, Math.max(4, most));
  return { parts: workgroup / 4, workgroup };
}

/** Bindings: dims, qkv, rollouts, positions, keys, values, o. */
export const cachedAttention = (
  size: HeadSize,
  context: number,
  { parts, workgroup }: CacheTiling,
  rows: string,
): Kernel =>
  kernel(
    'cached_attention',
    cachedAttentionSource,
    {
      ...headConstants(size),
      CONTEXT: context,
      PARTS: parts,
      PAIRS: workgroup / parts,
      WORKGROUP: workgroup,
      PARALLEL: parts > 1,
    },
    (s) => s[rows]! * size.heads * parts,
  );

/**
 * Threads that share a row of logits when it is drawn from. A GPU wants about eight vec4s a thread, in a workgroup of 32
 * to 256. On a processor barriers cost more than they bring, but the four lanes of one subgroup share a long row well,
 * above all where rows are few.
 */
export function rowTilingFor(software: boolean, vocab: number): RowTiling {
  if (software) return { lanes: vocab < 1024 ? 1 : 4 };
  const wished = 2 ** Math.ceil(Math.log2(Math.max(1, vocab / 32)));
  return { lanes: Math.min(256, Math.max(32, wished)) };
}

/** What a truncation asks of the kernels; what is off costs nothing. */
export interface Cuts {
  nucleus: boolean;
  grammar: boolean;
}

function rowConstants(vocab: number, { lanes }: RowTiling, { nucleus, grammar }: Cuts): Constants {
  const columns4 = Math.ceil(vocab / 4);
  return {
    VOCAB: vocab,
    COLUMNS4: columns4,
    RAGGED: vocab % 4 !== 0,
    LANES: lanes,
    RUN4: Math.ceil(columns4 / lanes),
    PARALLEL: lanes > 1,
    WORKGROUP: lanes > 1 ? lanes : 16,
    NUCLEUS: nucleus,
    GRAMMAR: grammar,
  };
}

/** Bindings: dims, turn, z, rollouts, positions, next, header, sampled, then grammar and states where there is one. */
export const sample = (
  vocab: number,
  rollouts: number,
  tiling: RowTiling,
  cuts: Cuts,
  rows: string,
): Kernel =>
  kernel(
    'sample',
    sampleSource,
    { ...rowConstants(vocab, tiling, cuts), DRAW: true, ROLLOUTS: rollouts },
    (s) => s[rows]! * tiling.lanes,
  );

/** Bindings: dims, turn, z, targets, nll, then grammar and states where there is one. */
export const truncatedLoss = (vocab: number, tiling: RowTiling, cuts: Cuts, rows: string): Kernel =>
  kernel(
    'sample',
    sampleSource,
    { ...rowConstants(vocab, tiling, cuts), DRAW: false },
    (s) => s[rows]! * tiling.lanes,
  );

/** Threads of `compact`: one on a processor, where a barrier costs more than the rows. */
export const compactLanesFor = (software: boolean): number => (software ? 1 : 256);

/** Bindings: header, next, dims, rollouts, positions, tokens. Runs at any count of rows. */
export const compact = (lanes: number): Kernel =>
  kernel('compact', compactSource, { LANES: lanes, PARALLEL: lanes > 1 }, () => lanes);
