import type { Ids, Reals } from './arrays.ts';

/** x[n] = E[tokens[n]]. tokens [N], embed [V, D] → x [N, D]. */
export function embedGather(
  tokens: Ids,
  embed: Reals,
  x: Float64Array,
  size: { n: number; d: number },
): void {
  const { n, d } = size;
  for (let row = 0; row < n; row++) {
    const from = tokens[row]! * d;
    const to = row * d;
    for (let i = 0; i < d; i++) x[to + i] = embed[from + i]!;
  }
}

/** dE[v] += Σ_{n: tokens[n] = v} dx[n]. tokens [N], dx [N, D] → dEmbed [V, D], added to. */
export function embedScatter(
  tokens: Ids,
  dx: Reals,
  dEmbed: Float64Array,
  size: { n: number; d: number },
): void {
  const { n, d } = size;
  for (let row = 0; row < n; row++) {
    const to = tokens[row]! * d;
    const from = row * d;
    for (let i = 0; i < d; i++) dEmbed[to + i] = dEmbed[to + i]! + dx[from + i]!;
  }
}
