import type { Ids, Reals } from './arrays.ts';

/** N new rows, caches of C positions a rollout; D = heads·Dh. */
export interface DecodeSize {
  n: number;
  heads: number;
  headWidth: number;
  context: number;
}

/**
 * Copies k and v of each new row to its place in the cache. qkv [N, 3D] (q and k already turned by `rotary`),
 * rollouts [N], positions [N] → keys, values [R, C, D] at [rollouts[n], positions[n]].
 */
export function storeKeyValue(
  qkv: Reals,
  rollouts: Ids,
  positions: Ids,
  keys: Float64Array,
  values: Float64Array,
  size: DecodeSize,
): void {
  const d = size.heads * size.headWidth;
  for (let row = 0; row < size.n; row++) {
    const to = (rollouts[row]! * size.context + positions[row]!) * d;
    for (let i = 0; i < d; i++) {
      keys[to + i] = qkv[row * 3 * d + d + i]!;
      values[to + i] = qkv[row * 3 * d + 2 * d + i]!;
    }
  }
}

/**
 * Attention of new rows over the cache, in which their own k and v stand already (`storeKeyValue`). For every head:
 * o_n = Σ_{j = 0}^{positions[n]} softmax_j(q_n·k_j / √Dh)·v_j with k, v of rollout rollouts[n].
 * qkv [N, 3D] (only q is read), rollouts [N], positions [N], keys, values [R, C, D] → o [N, D].
 */
export function decodeAttention(
  qkv: Reals,
  rollouts: Ids,
  positions: Ids,
  keys: Reals,
  values: Reals,
  o: Float64Array,
  size: DecodeSize,
): void {
  const { n, heads, headWidth, context } = size;
  const d = heads * headWidth;
  const scale = 1 / Math.sqrt(headWidth);
  const scores = new Float64Array(context);
  for (let row = 0; row < n; row++) {
    const last = positions[row]!;
    for (let head = 0; head < heads; head++) {
      const q = row * 3 * d + head * headWidth;
      const first = rollouts[row]! * context * d + head * headWidth;
      const to = row * d + head * headWidth;
      let top = -Infinity;
      for (let j = 0; j <= last; j++) {
        let dot = 0;
        for (let i = 0; i < headWidth; i++) dot += qkv[q + i]! * keys[first + j * d + i]!;
        scores[j] = dot * scale;
        top = Math.max(top, dot * scale);
      }
      let total = 0;
      for (let j = 0; j <= last; j++) {
        const p = Math.exp(scores[j]! - top);
        scores[j] = p;
        total += p;
      }
      for (let i = 0; i < headWidth; i++) o[to + i] = 0;
      for (let j = 0; j <= last; j++) {
        const p = scores[j]! / total;
        for (let i = 0; i < headWidth; i++) o[to + i] = o[to + i]! + p * values[first + j * d + i]!;
      }
    }
  }
}
