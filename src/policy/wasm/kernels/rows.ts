/** to[i] = from[ids[i]], row by row: embeddings of tokens, or some rows of a matrix. ids [N], from [·, D] → to [N, D]. */
export function gatherRows(ids: usize, from: usize, to: usize, n: i32, d: i32): void {
  const row = <usize>d * 4;
  for (let i: i32 = 0; i < n; i++) {
    memory.copy(to, from + <usize>load<i32>(ids + <usize>i * 4) * row, row);
    to += row;
  }
}

/** to[ids[i]] = from[i], row by row; other rows of `to` stay. ids [N], from [N, D] → to [·, D]. */
export function scatterRows(ids: usize, from: usize, to: usize, n: i32, d: i32): void {
  const row = <usize>d * 4;
  for (let i: i32 = 0; i < n; i++) {
    memory.copy(to + <usize>load<i32>(ids + <usize>i * 4) * row, from, row);
    from += row;
  }
}

/** to[ids[i]] += from[i], in order of i: the gradient of `gatherRows`. ids [N], from [N, D] → to [·, D]; D a multiple of 4. */
export function addRows(ids: usize, from: usize, to: usize, n: i32, d: i32): void {
  const row = <usize>d * 4;
  for (let i: i32 = 0; i < n; i++) {
    const target = to + <usize>load<i32>(ids + <usize>i * 4) * row;
    for (let at: usize = 0; at < row; at += 16)
      v128.store(target + at, f32x4.add(v128.load(target + at), v128.load(from + at)));
    from += row;
  }
}
