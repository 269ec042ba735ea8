import { exponentials, padRow, topOf } from './softmax';

/**
 * The key/value cache of one layer holds, for each rollout, keys [C' / 4, H, Dh, 4] and values [C', H, Dh'], with the
 * context C and the width of a head Dh rounded up to multiples of 4. Keys lie in groups of four positions, so that one
 * vector holds the same component of four keys. What a rollout holds lies together from its first position on: the cache
 * is far larger than the processor's own, so memory is read in order.
 */
function rounded(count: i32): i32 {
  return (count + 3) & ~3;
}

/**
 * Copies k and v of each new row to its place in the cache. qkv [N, 3D] (q and k already turned by `rotary`),
 * rollouts [N], positions [N].
 */
export function storeKeyValue(
  qkv: usize,
  rollouts: usize,
  positions: usize,
  keys: usize,
  values: usize,
  n: i32,
  heads: i32,
  headWidth: i32,
  context: i32,
): void {
  const d = heads * headWidth;
  const head = <usize>headWidth * 4;
  const wide = <usize>rounded(headWidth) * 4;
  for (let i: i32 = 0; i < n; i++) {
    const first = <usize>load<i32>(rollouts + <usize>i * 4) * rounded(context);
    const position = load<i32>(positions + <usize>i * 4);
    let k = qkv + (<usize>i * 3 * d + d) * 4;
    let toKey = keys + ((first + (position & ~3)) * d + (position & 3)) * 4;
    for (let c: i32 = 0; c < d; c++) {
      store<f32>(toKey, load<f32>(k));
      toKey += 16;
      k += 4;
    }
    // v stands behind k.
    let toValue = values + (first + position) * heads * wide;
    for (let h: i32 = 0; h < heads; h++) {
      memory.copy(toValue, k, head);
      toValue += wide;
      k += head;
    }
  }
}

/**
 * Attention of new rows over the cache, in which their own k and v stand already (`storeKeyValue`). For every head:
 * o_n = Σ_{j = 0}^{positions[n]} softmax_j(q_n·k_j / √Dh)·v_j with k, v of rollout rollouts[n].
 * qkv [N, 3D] (only q is read), rollouts [N], positions [N], scratch [H, C rounded up to 4] → o [N, D].
 */
export function decodeAttention(
  qkv: usize,
  rollouts: usize,
  positions: usize,
  keys: usize,
  values: usize,
  scratch: usize,
  o: usize,
  n: i32,
  heads: i32,
  headWidth: i32,
  context: i32,
): void {
  const scale: f32 = <f32>1 / sqrt(<f32>headWidth);
  const d = heads * headWidth;
  const wide = rounded(headWidth);
  const room = <usize>rounded(context) * 4;
  for (let i: i32 = 0; i < n; i++) {
    const first = <usize>load<i32>(rollouts + <usize>i * 4) * rounded(context);
    const seen = load<i32>(positions + <usize>i * 4) + 1;
    scores(qkv + <usize>i * 3 * d * 4, keys + first * d * 4, scratch, room, seen, heads, headWidth);
    for (let head: i32 = 0; head < heads; head++) {
      const row = scratch + <usize>head * room;
      padRow(row, seen);
      const top = topOf(row, seen) * scale;
      const sum = exponentials(row, seen, scale, top);
      const v = values + (first * heads + head) * wide * 4;
      const to = o + (<usize>i * d + head * headWidth) * 4;
      average(row, v, heads * wide, to, seen, headWidth, <f32>1 / sum);
    }
  }
}

/**
 * q·k_j of every head and of positions 0 … seen − 1, four at a time, eight while there are as many: then each number of q is
 * read once for them. Scores of a head lie `room` bytes behind those of the head before.
 */
function scores(q: usize, k: usize, to: usize, room: usize, seen: i32, heads: i32, headWidth: i32): void {
  const head = <usize>headWidth * 4;
  const end = q + head * heads;
  const group = 4 * head * heads;
  let j: i32 = 0;
  for (; j + 4 < seen; j += 8) {
    let at = to + <usize>j * 4;
    for (let from = q; from < end; from += head) {
      let even = f32x4.splat(0);
      let odd = even;
      let nextEven = even;
      let nextOdd = even;
      // A head is of even width: its rotary pairs.
      for (let c = from; c < from + head; c += 8) {
        const x = v128.load32_splat(c);
        const y = v128.load32_splat(c, 4);
        even = f32x4.add(even, f32x4.mul(x, v128.load(k)));
        odd = f32x4.add(odd, f32x4.mul(y, v128.load(k, 16)));
        nextEven = f32x4.add(nextEven, f32x4.mul(x, v128.load(k + group)));
        nextOdd = f32x4.add(nextOdd, f32x4.mul(y, v128.load(k + group, 16)));
        k += 32;
      }
      v128.store(at, f32x4.add(even, odd));
      v128.store(at, f32x4.add(nextEven, nextOdd), 16);
      at += room;
    }
    k += group;
  }
  if (j >= seen) return;
  let at = to + <usize>j * 4;
  for (let from = q; from < end; from += head) {
    let even = f32x4.splat(0);
    let odd = even;
    for (let c = from; c < from + head; c += 8) {
      even = f32x4.add(even, f32x4.mul(v128.load32_splat(c), v128.load(k)));
      odd = f32x4.add(odd, f32x4.mul(v128.load32_splat(c, 4), v128.load(k, 16)));
      k += 32;
    }
    v128.store(at, f32x4.add(even, odd));
    at += room;
  }
}

/** o = factor·Σ_j p_j·v_j, v_j `stride` floats apart: sixteen components at a time while there are as many, then four. */
function average(p: usize, v: usize, stride: i32, o: usize, seen: i32, headWidth: i32, factor: f32): void {
  const row = <usize>stride * 4;
  const scale = f32x4.splat(factor);
  let c: i32 = 0;
  for (; c + 16 <= headWidth; c += 16) {
    let s0 = f32x4.splat(0);
    let s1 = s0;
    let s2 = s0;
    let s3 = s0;
    let from = v + <usize>c * 4;
    const end = p + <usize>seen * 4;
    for (let at = p; at < end; at += 4) {
      const x = v128.load32_splat(at);
      s0 = f32x4.add(s0, f32x4.mul(x, v128.load(from)));
      s1 = f32x4.add(s1, f32x4.mul(x, v128.load(from, 16)));
      s2 = f32x4.add(s2, f32x4.mul(x, v128.load(from, 32)));
      s3 = f32x4.add(s3, f32x4.mul(x, v128.load(from, 48)));
      from += row;
    }
    const to = o + <usize>c * 4;
    v128.store(to, f32x4.mul(s0, scale));
    v128.store(to, f32x4.mul(s1, scale), 16);
    v128.store(to, f32x4.mul(s2, scale), 32);
    v128.store(to, f32x4.mul(s3, scale), 48);
  }
  for (; c < headWidth; c += 4) {
    let sum = f32x4.splat(0);
    let from = v + <usize>c * 4;
    for (let j: i32 = 0; j < seen; j++) {
      sum = f32x4.add(sum, f32x4.mul(v128.load32_splat(p + <usize>j * 4), v128.load(from)));
      from += row;
    }
    sum = f32x4.mul(sum, scale);
    const to = o + <usize>c * 4;
    // Of the last four components only those that the head has are stored.
    if (headWidth - c >= 4) v128.store(to, sum);
    else {
      store<f32>(to, f32x4.extract_lane(sum, 0));
      store<f32>(to, f32x4.extract_lane(sum, 1), 4);
    }
  }
}
