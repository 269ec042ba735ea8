import type { Ids } from './arrays.ts';

/** Base of the geometric ladder of wavelengths. */
export const ROTARY_BASE = 10000;

/**
 * Turns the q and k parts of a fused qkv in place by the position of the row. In each head of width Dh the pair
 * (i, i + Dh/2) turns by p·10000^(−2i/Dh): a' = a·cos − b·sin, b' = a·sin + b·cos. The v part stays.
 * qkv [N, 3D], positions [N]; head h of q lies at columns h·Dh, of k at D + h·Dh.
 * `direction` −1 turns back: as the rotation is orthogonal, that is also the gradient.
 * Source: Su et al. 2021, "RoFormer", equation 34, with halves paired instead of neighbours (as in GPT-NeoX).
 */
export function rotary(
  qkv: Float64Array,
  positions: Ids,
  size: { n: number; heads: number; headWidth: number },
  direction: 1 | -1 = 1,
): void {
  const { n, heads, headWidth } = size;
  const half = headWidth / 2;
  const d = heads * headWidth;
  for (let i = 0; i < half; i++) {
    const frequency = direction * ROTARY_BASE ** ((-2 * i) / headWidth);
    for (let row = 0; row < n; row++) {
      const angle = positions[row]! * frequency;
      const cos = Math.cos(angle);
      const sin = Math.sin(angle);
      // q and k lie side by side, so both are 2·heads heads in one run.
      for (let head = 0; head < 2 * heads; head++) {
        const at = row * 3 * d + head * headWidth + i;
        const a = qkv[at]!;
        const b = qkv[at + half]!;
        qkv[at] = a * cos - b * sin;
        qkv[at + half] = a * sin + b * cos;
      }
    }
  }
}
