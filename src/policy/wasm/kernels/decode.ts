import { exponentials, padRow, topOf } from './softmax';

/**
 * The key/value cache of one layer holds, for rollout r and head h, a block of [C', Dh] keys and one of [C', Dh'] values,
 * with the context C and the width of a head Dh rounded up to multiples of 4. Keys lie in groups of four positions,
 * component by component, so that one vector holds the same component of four keys. `keysOf` and `valuesOf` say where.
 */
function keysOf(keys: usize, rollout: i32, head: i32, heads: i32, headWidth: i32, context: i32): usize {
  return keys + (<usize>rollout * heads + head) * ((context + 3) & ~3) * headWidth * 4;
}

function valuesOf(values: usize, rollout: i32, head: i32, heads: i32, headWidth: i32, context: i32): usize {
  return values + (<usize>rollout * heads + head) * ((context + 3) & ~3) * ((headWidth + 3) & ~3) * 4;
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
  const wide = <usize>((headWidth + 3) & ~3) * 4;
  for (let i: i32 = 0; i < n; i++) {
    const rollout = load<i32>(rollouts + <usize>i * 4);
    const position = load<i32>(positions + <usize>i * 4);
    for (let head: i32 = 0; head < heads; head++) {
      const k = qkv + (<usize>i * 3 * d + d + head * headWidth) * 4;
      const group = <usize>(position >> 2) * headWidth * 16 + <usize>(position & 3) * 4;
      const toKey = keysOf(keys, rollout, head, heads, headWidth, context) + group;
      for (let c: i32 = 0; c < headWidth; c++) store<f32>(toKey + <usize>c * 16, load<f32>(k + <usize>c * 4));
      const toValue = valuesOf(values, rollout, head, heads, headWidth, context) + <usize>position * wide;
      memory.copy(toValue, k + <usize>d * 4, <usize>headWidth * 4);
    }
  }
}

/**
 * Attention of new rows over the cache, in which their own k and v stand already (`storeKeyValue`). For every head:
 * o_n = Σ_{j = 0}^{positions[n]} softmax_j(q_n·k_j / √Dh)·v_j with k, v of rollout rollouts[n].
 * qkv [N, 3D] (only q is read), rollouts [N], positions [N], scratch [C rounded up to 4] → o [N, D].
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
  const wide = <usize>headWidth * 4;
  for (let i: i32 = 0; i < n; i++) {
    const rollout = load<i32>(rollouts + <usize>i * 4);
    const seen = load<i32>(positions + <usize>i * 4) + 1;
    const q = qkv + <usize>i * 3 * heads * wide;
    const to = o + <usize>i * heads * wide;
    for (let head: i32 = 0; head < heads; head++) {
      const at = <usize>head * wide;
      const k = keysOf(keys, rollout, head, heads, headWidth, context);
      scores(q + at, k, scratch, seen, headWidth);
      padRow(scratch, seen);
      const top = topOf(scratch, seen) * scale;
      const sum = exponentials(scratch, seen, scale, top);
      const v = valuesOf(values, rollout, head, heads, headWidth, context);
      average(scratch, v, to + at, seen, headWidth, <f32>1 / sum);
    }
  }
}

/** q·k_j of positions 0 … seen − 1, four at a time, eight while there are as many: each number of q is read once for them. */
function scores(q: usize, k: usize, to: usize, seen: i32, headWidth: i32): void {
  const end = q + <usize>headWidth * 4;
  const group = <usize>headWidth * 16;
  let j: i32 = 0;
  for (; j + 4 < seen; j += 8) {
    let even = f32x4.splat(0);
    let odd = even;
    let nextEven = even;
    let nextOdd = even;
    // A head is of even width: its rotary pairs.
    for (let c = q; c < end; c += 8) {
      const x = v128.load32_splat(c);
      const y = v128.load32_splat(c, 4);
      even = f32x4.add(even, f32x4.mul(x, v128.load(k)));
      odd = f32x4.add(odd, f32x4.mul(y, v128.load(k, 16)));
      nextEven = f32x4.add(nextEven, f32x4.mul(x, v128.load(k + group)));
      nextOdd = f32x4.add(nextOdd, f32x4.mul(y, v128.load(k + group, 16)));
      k += 32;
    }
    v128.store(to, f32x4.add(even, odd));
    v128.store(to, f32x4.add(nextEven, nextOdd), 16);
    k += group;
    to += 32;
  }
  if (j >= seen) return;
  let even = f32x4.splat(0);
  let odd = even;
  for (let c = q; c < end; c += 8) {
    even = f32x4.add(even, f32x4.mul(v128.load32_splat(c), v128.load(k)));
    odd = f32x4.add(odd, f32x4.mul(v128.load32_splat(c, 4), v128.load(k, 16)));
    k += 32;
  }
  v128.store(to, f32x4.add(even, odd));
}

/** o = factor·Σ_j p_j·v_j: sixteen components at a time while there are as many, then four. */
function average(p: usize, v: usize, o: usize, seen: i32, headWidth: i32, factor: f32): void {
  const row = <usize>((headWidth + 3) & ~3) * 4;
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
