import type { Ids, Reals } from './arrays.ts';

/** N rows, `heads` heads of width Dh; D = heads·Dh. Head h of q lies at columns h·Dh of qkv, of k at D + h·Dh, of v at 2D + h·Dh. */
export interface AttentionSize {
  n: number;
  heads: number;
  headWidth: number;
}

/**
 * Causal attention inside each sequence of a packed batch. For every head, with s_j = q_n·k_j / √Dh:
 * o_n = Σ_{j = starts[n]}^{n} exp(s_j − L_n)·v_j, where L_n = log Σ_j exp(s_j).
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
  const { n, heads, headWidth } = size;
  const d = heads * headWidth;
  const scale = 1 / Math.sqrt(headWidth);
  const scores = new Float64Array(longest(starts, n));
  for (let row = 0; row < n; row++) {
    const start = starts[row]!;
    for (let head = 0; head < heads; head++) {
      const q = row * 3 * d + head * headWidth;
      const to = row * d + head * headWidth;
      let top = -Infinity;
      for (let j = start; j <= row; j++) {
        const k = j * 3 * d + d + head * headWidth;
        let dot = 0;
        for (let i = 0; i < headWidth; i++) dot += qkv[q + i]! * qkv[k + i]!;
        scores[j - start] = dot * scale;
        top = Math.max(top, dot * scale);
      }
      let total = 0;
      for (let j = start; j <= row; j++) total += Math.exp(scores[j - start]! - top);
      const norm = top + Math.log(total);
      lse[row * heads + head] = norm;
      for (let i = 0; i < headWidth; i++) o[to + i] = 0;
      for (let j = start; j <= row; j++) {
        const v = j * 3 * d + 2 * d + head * headWidth;
        const p = Math.exp(scores[j - start]! - norm);
        for (let i = 0; i < headWidth; i++) o[to + i] = o[to + i]! + p * qkv[v + i]!;
      }
    }
  }
}

/**
 * Gradient of `attention`. With p_nj = exp(s_nj − L_n) and δ_n = do_n·o_n:
 * dv_j = Σ_n p_nj·do_n; ds_nj = p_nj·(do_n·v_j − δ_n); dq_n = Σ_j ds_nj·k_j/√Dh; dk_j = Σ_n ds_nj·q_n/√Dh.
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
  const { n, heads, headWidth } = size;
  const d = heads * headWidth;
  const scale = 1 / Math.sqrt(headWidth);
  dQkv.fill(0, 0, n * 3 * d);
  for (let row = 0; row < n; row++) {
    for (let head = 0; head < heads; head++) {
      const q = row * 3 * d + head * headWidth;
      const at = row * d + head * headWidth;
      const norm = lse[row * heads + head]!;
      let delta = 0;
      for (let i = 0; i < headWidth; i++) delta += dOut[at + i]! * o[at + i]!;
      for (let j = starts[row]!; j <= row; j++) {
        const k = j * 3 * d + d + head * headWidth;
        const v = k + d;
        let dot = 0;
        let dp = 0;
        for (let i = 0; i < headWidth; i++) {
          dot += qkv[q + i]! * qkv[k + i]!;
          dp += dOut[at + i]! * qkv[v + i]!;
        }
        const p = Math.exp(dot * scale - norm);
        const ds = p * (dp - delta) * scale;
        for (let i = 0; i < headWidth; i++) {
          dQkv[q + i] = dQkv[q + i]! + ds * qkv[k + i]!;
          dQkv[k + i] = dQkv[k + i]! + ds * qkv[q + i]!;
          dQkv[v + i] = dQkv[v + i]! + p * dOut[at + i]!;
        }
      }
    }
  }
}

/** The most positions that any row attends to. */
function longest(starts: Ids, n: number): number {
  let most = 0;
  for (let row = 0; row < n; row++) most = Math.max(most, row - starts[row]! + 1);
  return most;
}
