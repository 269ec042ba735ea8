import type { Ids, Reals } from './arrays.ts';
import { type Matrix, product } from './product.ts';

/** N rows, H `heads` of width Dh, D = H·Dh. Head h of q lies at columns h·Dh of qkv, of k at D + h·Dh, of v at 2D + h·Dh. */
export interface AttentionSize {
  n: number;
  heads: number;
  headWidth: number;
}

/** Rows of one sequence that are taken together, so that all products are of matrices. */
const ROWS = 32;

/**
 * Causal attention inside each sequence of a packed batch. For every head, with s_nj = q_n·k_j / √Dh:
 * o_n = Σ_{j = starts[n]}^{n} exp(s_nj − L_n)·v_j, where L_n = log Σ_j exp(s_nj).
 * qkv [N, 3D], starts [N] → o [N, D], lse [N, H] (the L_n, kept for the gradient).
 * Source: Vaswani et al. 2017, "Attention Is All You Need", equation 1.
 */
export function attention(
  qkv: Reals,
  starts: Ids,
  o: Float64Array,
  lse: Float64Array,
  size: AttentionSize,
): void {
  const { heads, headWidth } = size;
  const d = heads * headWidth;
  forBlocks(starts, size, (block) => {
    const { head, first, start, rows, columns, p } = block;
    const { q, k, v } = headOf(qkv, size, block);
    product(q, k, { data: p, offset: 0, row: columns }, { rows, columns, depth: headWidth });
    for (let i = 0; i < rows; i++)
      lse[(first + i) * heads + head] = softmax(p, i * columns, first + i - start + 1, columns, headWidth);
    const to = { data: o, offset: first * d + head * headWidth, row: d };
    product(dense(p, columns), transpose(v), to, { rows, columns: headWidth, depth: columns });
  });
}

/**
 * Gradient of `attention`. With p_nj = exp(s_nj − L_n) and δ_n = do_n·o_n:
 * dv_j = Σ_n p_nj·do_n; ds_nj = p_nj·(do_n·v_j − δ_n)/√Dh; dq_n = Σ_j ds_nj·k_j; dk_j = Σ_n ds_nj·q_n.
 * qkv [N, 3D], starts [N], o [N, D], lse [N, H], dOut [N, D] → dQkv [N, 3D], written.
 * Source: Dao et al. 2022, "FlashAttention", appendix B.2.
 */
export function attentionBackward(
  qkv: Reals,
  starts: Ids,
  o: Reals,
  lse: Reals,
  dOut: Reals,
  dQkv: Float64Array,
  size: AttentionSize,
): void {
  const { heads, headWidth } = size;
  const d = heads * headWidth;
  const scale = 1 / Math.sqrt(headWidth);
  dQkv.fill(0, 0, size.n * 3 * d);
  forBlocks(starts, size, (block) => {
    const { head, first, start, rows, columns, p, ds } = block;
    const { q, k, v } = headOf(qkv, size, block);
    const gradient = headOf(dQkv, size, block);
    const dO: Matrix = { data: dOut, offset: first * d + head * headWidth, row: d, column: 1 };
    const scores = { rows, columns, depth: headWidth };
    product(q, k, { data: p, offset: 0, row: columns }, scores);
    product(dO, v, { data: ds, offset: 0, row: columns }, scores);
    for (let i = 0; i < rows; i++) {
      const at = (first + i) * d + head * headWidth;
      const norm = lse[(first + i) * heads + head]!;
      let delta = 0;
      for (let c = 0; c < headWidth; c++) delta += dOut[at + c]! * o[at + c]!;
      const row = i * columns;
      const seen = first + i - start + 1;
      for (let j = 0; j < seen; j++) {
        const weight = Math.exp(p[row + j]! * scale - norm);
        p[row + j] = weight;
        ds[row + j] = weight * (ds[row + j]! - delta) * scale;
      }
      p.fill(0, row + seen, row + columns);
      ds.fill(0, row + seen, row + columns);
    }
    const ofRows = { rows, columns: headWidth, depth: columns };
    const ofColumns = { rows: columns, columns: headWidth, depth: rows };
    product(dense(ds, columns), transpose(k), gradient.q, ofRows, true);
    product(transpose(dense(ds, columns)), transpose(q), gradient.k, ofColumns, true);
    product(transpose(dense(p, columns)), transpose(dO), gradient.v, ofColumns, true);
  });
}

/** Some rows of one sequence and head: rows first … first + rows − 1 see the columns start … start + columns − 1. */
interface Block {
  head: number;
  start: number;
  first: number;
  rows: number;
  columns: number;
  /** Room for [rows, columns] weights and their gradient. */
  p: Float64Array;
  ds: Float64Array;
}

/** Visits every head of every sequence in blocks of at most `ROWS` rows. The block's arrays are used again. */
function forBlocks(starts: Ids, size: AttentionSize, visit: (block: Block) => void): void {
  const { n, heads } = size;
  let longest = 0;
  for (let row = 0; row < n; row++) longest = Math.max(longest, row - starts[row]! + 1);
  const p = new Float64Array(ROWS * longest);
  const ds = new Float64Array(ROWS * longest);
  for (let first = 0, end = 0; first < n; first = end) {
    const start = starts[first]!;
    while (end < n && end < first + ROWS && starts[end] === start) end++;
    for (let head = 0; head < heads; head++)
      visit({ head, start, first, rows: end - first, columns: end - start, p, ds });
  }
}

/** q of the block's rows, k and v of its columns, each [·, Dh]. */
function headOf<T extends Reals>(data: T, { heads, headWidth }: AttentionSize, block: Block) {
  const d = heads * headWidth;
  const at = (row: number, part: number) => ({
    data,
    offset: row * 3 * d + part * d + block.head * headWidth,
    row: 3 * d,
    column: 1,
  });
  return { q: at(block.first, 0), k: at(block.start, 1), v: at(block.start, 2) };
}

/** Turns a row of raw products into softmax weights over its first `seen` columns, 0 after; returns the log-sum-exp. */
function softmax(p: Float64Array, at: number, seen: number, columns: number, headWidth: number): number {
  const scale = 1 / Math.sqrt(headWidth);
  let top = -Infinity;
  for (let j = at; j < at + seen; j++) top = Math.max(top, p[j]! * scale);
  let total = 0;
  for (let j = at; j < at + seen; j++) {
    const weight = Math.exp(p[j]! * scale - top);
    p[j] = weight;
    total += weight;
  }
  for (let j = at; j < at + seen; j++) p[j] = p[j]! / total;
  p.fill(0, at + seen, at + columns);
  return top + Math.log(total);
}

const dense = (data: Reals, columns: number): Matrix => ({ data, offset: 0, row: columns, column: 1 });
const transpose = (m: Matrix): Matrix => ({ ...m, row: m.column, column: m.row });
