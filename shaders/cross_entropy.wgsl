// cross_entropy, one tile of the vocabulary: with logits z_nv of the trained rows, a running maximum and sum give
// lse_n = log Σ_v exp(z_nv) and nll_n = lse_n − z_n[targets[n]], final after the last tile. Tiles come in order of v.
// z [N, 4·COLUMNS4] for v = base … base + count − 1, targets [N] → state [N] (maximum, sum, target's logit, lse), nll [N].
// Source: Milakov & Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3. One thread a row.
struct Dims { n: u32, chunk: u32 }
struct Tile { base: u32, count: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> tile: Tile;
@group(0) @binding(2) var<storage, read> z: array<f32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read_write> state: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> nll: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = id.y * groups.x * 64 + id.x;
  if (row >= dims.n) { return; }
  let first = row * 4 * COLUMNS4;
  var held = vec4f(-1e30, 0.0, 0.0, 0.0);
  if (tile.base > 0) { held = state[row]; }
  var top = held.x;
  for (var v = 0u; v < tile.count; v++) { top = max(top, z[first + v]); }
  var total = held.y * exp(held.x - top);
  for (var v = 0u; v < tile.count; v++) { total += exp(z[first + v] - top); }
  let target_column = targets[row] - tile.base;
  var target_logit = held.z;
  if (target_column < tile.count) { target_logit = z[first + target_column]; }
  let lse = top + log(total);
  state[row] = vec4f(top, total, target_logit, lse);
  nll[row] = lse - target_logit;
}
