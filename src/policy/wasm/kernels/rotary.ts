/**
 * Turns the q and k parts of a fused qkv in place by the position of the row: in each head of width Dh the pair
 * (i, i + Dh/2) becomes (a·cos − b·sin, a·sin + b·cos). The v part stays. `direction` −1 turns back, which is the gradient.
 * qkv [N, 3D], positions [N], turns [C, Dh]: of each position Dh/2 cosines, then Dh/2 sines.
 * Source: Su et al. 2021, "RoFormer", equation 34, with halves paired instead of neighbours (as in GPT-NeoX).
 */
export function rotary(
  qkv: usize,
  positions: usize,
  turns: usize,
  n: i32,
  heads: i32,
  headWidth: i32,
  direction: f32,
): void {
  const head = <usize>headWidth * 4;
  const half = head >> 1;
  const row = head * heads * 3;
  const sign = f32x4.splat(direction);
  for (let i: i32 = 0; i < n; i++) {
    const turn = turns + <usize>load<i32>(positions + <usize>i * 4) * head;
    // q and k lie side by side, so both are 2·heads heads in one run.
    for (let a = qkv, end = qkv + 2 * head * heads; a < end; a += head) {
      const b = a + half;
      let at: usize = 0;
      for (; at + 16 <= half; at += 16) {
        const cos = v128.load(turn + at);
        const sin = f32x4.mul(sign, v128.load(turn + half + at));
        const x = v128.load(a + at);
        const y = v128.load(b + at);
        v128.store(a + at, f32x4.sub(f32x4.mul(x, cos), f32x4.mul(y, sin)));
        v128.store(b + at, f32x4.add(f32x4.mul(x, sin), f32x4.mul(y, cos)));
      }
      for (; at < half; at += 4) {
        const cos = load<f32>(turn + at);
        const sin = direction * load<f32>(turn + half + at);
        const x = load<f32>(a + at);
        const y = load<f32>(b + at);
        store<f32>(a + at, x * cos - y * sin);
        store<f32>(b + at, x * sin + y * cos);
      }
    }
    qkv += row;
  }
}
