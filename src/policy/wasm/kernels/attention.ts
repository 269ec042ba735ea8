import { log } from './exp';
import { product } from './product';
import { exponentials, padRow, scaleRow, topOf } from './softmax';

/** Rows of one sequence that are taken together, so that all products are of matrices. */
export const ATTENTION_ROWS: i32 = 32;

/**
 * Causal attention inside each sequence of a packed batch. For every head, with s_nj = q_n·k_j / √Dh:
 * o_n = Σ_{j = starts[n]}^{n} exp(s_nj − L_n)·v_j, where L_n = log Σ_j exp(s_nj).
 * qkv [N, 3D] (head h of q at columns h·Dh, of k at D + h·Dh, of v at 2D + h·Dh), starts [N],
 * scratch [32, T rounded up to 4] for sequences of up to T positions → o [N, D], lse [N, H] (the L_n).
 * Source: Vaswani et al. 2017, "Attention Is All You Need", equation 1.
 */
export function attention(
  qkv: usize,
  starts: usize,
  o: usize,
  lse: usize,
  scratch: usize,
  n: i32,
  heads: i32,
  headWidth: i32,
): void {
  const d = heads * headWidth;
  const scale: f32 = <f32>1 / sqrt(<f32>headWidth);
  for (let first: i32 = 0; first < n; ) {
    const start = load<i32>(starts + <usize>first * 4);
    const end = endOfBlock(starts, first, start, n);
    const rows = end - first;
    const columns = end - start;
    const stride = (columns + 3) & ~3;
    for (let head: i32 = 0; head < heads; head++) {
      const q = qkv + (<usize>first * 3 * d + head * headWidth) * 4;
      const k = qkv + (<usize>start * 3 * d + d + head * headWidth) * 4;
      const v = k + <usize>d * 4;
      product(q, 3 * d, false, k, 3 * d, false, scratch, stride, 0, rows, columns, headWidth);
      for (let i: i32 = 0; i < rows; i++) {
        const row = scratch + <usize>i * stride * 4;
        const seen = first + i - start + 1;
        padRow(row, seen);
        const top = topOf(row, seen) * scale;
        const sum = exponentials(row, seen, scale, top);
        scaleRow(row, seen, <f32>1 / sum);
        clear(row, seen, columns);
        store<f32>(lse + (<usize>(first + i) * heads + head) * 4, <f32>(<f64>top + log(sum)));
      }
      const to = o + (<usize>first * d + head * headWidth) * 4;
      product(scratch, stride, false, v, 3 * d, true, to, d, 0, rows, headWidth, columns);
    }
    first = end;
  }
}

/**
 * Gradient of `attention`. With p_nj = exp(s_nj − L_n) and δ_n = do_n·o_n:
 * dv_j = Σ_n p_nj·do_n; ds_nj = p_nj·(do_n·v_j − δ_n)/√Dh; dq_n = Σ_j ds_nj·k_j; dk_j = Σ_n ds_nj·q_n.
 * qkv [N, 3D], starts [N], o [N, D], lse [N, H], dOut [N, D], scratch 2·[32, T rounded up to 4] → dQkv [N, 3D], written.
 * Source: Dao et al. 2022, "FlashAttention", appendix B.2.
 */
export function attentionBackward(
  qkv: usize,
  starts: usize,
  o: usize,
  lse: usize,
  dOut: usize,
  scratch: usize,
  dQkv: usize,
  n: i32,
  heads: i32,
  headWidth: i32,
): void {
  const d = heads * headWidth;
  const wide = 3 * d;
  const toK = <usize>d * 4;
  memory.fill(dQkv, 0, <usize>n * wide * 4);
  for (let first: i32 = 0; first < n; ) {
    const start = load<i32>(starts + <usize>first * 4);
    const end = endOfBlock(starts, first, start, n);
    const rows = end - first;
    const columns = end - start;
    const stride = (columns + 3) & ~3;
    const p = scratch;
    const ds = scratch + <usize>rows * stride * 4;
    for (let head: i32 = 0; head < heads; head++) {
      const atRows = (<usize>first * wide + head * headWidth) * 4;
      const atColumns = (<usize>start * wide + head * headWidth) * 4 + toK;
      const q = qkv + atRows;
      const k = qkv + atColumns;
      const out = (<usize>first * d + head * headWidth) * 4;
      const dO = dOut + out;
      product(q, wide, false, k, wide, false, p, stride, 0, rows, columns, headWidth);
      product(dO, d, false, k + toK, wide, false, ds, stride, 0, rows, columns, headWidth);
      for (let i: i32 = 0; i < rows; i++) {
        const at = <usize>i * d * 4;
        const delta = dot(dO + at, o + out + at, headWidth);
        const norm = load<f32>(lse + (<usize>(first + i) * heads + head) * 4);
        const row = <usize>i * stride * 4;
        weigh(p + row, ds + row, first + i - start + 1, columns, norm, delta, headWidth);
      }
      const dQ = dQkv + atRows;
      const dK = dQkv + atColumns;
      const dV = dK + toK;
      product(ds, stride, false, k, wide, true, dQ, wide, dQ, rows, headWidth, columns);
      product(ds, stride, true, q, wide, true, dK, wide, dK, columns, headWidth, rows);
      product(p, stride, true, dO, d, true, dV, wide, dV, columns, headWidth, rows);
    }
    first = end;
  }
}

/** The row after the last of a block: it ends with its sequence, or after ATTENTION_ROWS. */
function endOfBlock(starts: usize, first: i32, start: i32, n: i32): i32 {
  const most = min(n, first + ATTENTION_ROWS);
  let end = first + 1;
  while (end < most && load<i32>(starts + <usize>end * 4) === start) end++;
  return end;
}

/** From the raw scores p and ds = do·v of a row to its weights and the gradient of its scores; 0 from `seen` on. */
function weigh(p: usize, ds: usize, seen: i32, columns: i32, norm: f32, delta: f32, headWidth: i32): void {
  const scale: f32 = <f32>1 / sqrt(<f32>headWidth);
  padRow(p, seen);
  exponentials(p, seen, scale, norm);
  const end = <usize>seen * 4;
  for (let at: usize = 0; at < end; at += 16) {
    const gap = f32x4.mul(f32x4.sub(v128.load(ds + at), f32x4.splat(delta)), f32x4.splat(scale));
    v128.store(ds + at, f32x4.mul(v128.load(p + at), gap));
  }
  clear(p, seen, columns);
  clear(ds, seen, columns);
}

function clear(row: usize, from: i32, to: i32): void {
  memory.fill(row + <usize>from * 4, 0, <usize>(to - from) * 4);
}

function dot(x: usize, y: usize, count: i32): f32 {
  let sum: f32 = 0;
  const end = x + <usize>count * 4;
  for (; x < end; x += 4, y += 4) sum += load<f32>(x) * load<f32>(y);
  return sum;
}
