// cross_entropy, one tile of the vocabulary: with logits z_nv of the trained rows, a running maximum and sum give
// lse_n = log Σ_v exp(z_nv) and nll_n = lse_n − z_n[targets[n]], final after the last tile. Tiles come in order of v.
// z [N, 4·COLUMNS4] for v = base … base + count − 1, targets [N] → state [N] (maximum, sum, target's logit, lse), nll [N].
// Source: Milakov & Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
// LANES threads a row (a power of 2), a workgroup where more than one; every sum has one order.
struct Dims { n: u32, chunk: u32 }
struct Tile { base: u32, count: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> tile: Tile;
@group(0) @binding(2) var<storage, read> z: array<vec4f>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read_write> state: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> nll: array<f32>;

// Stands for −∞: exp of it less anything real is 0.
const nothing = vec4f(-1e30);

//! if PARALLEL
var<workgroup> shared_lanes: array<f32, LANES>;
//! end

fn logits(first: u32, i: u32) -> vec4f {
  return select(nothing, z[first + i], vec4u(4 * i) + vec4u(0, 1, 2, 3) < vec4u(tile.count));
}

@compute @workgroup_size(WORKGROUP)
fn main(
  //! if PARALLEL
  @builtin(workgroup_id) id: vec3u,
  @builtin(local_invocation_index) lane: u32,
  //! end
  //! if !PARALLEL
  @builtin(global_invocation_id) id: vec3u,
  //! end
  @builtin(num_workgroups) groups: vec3u,
) {
  //! if PARALLEL
  let row = id.y * groups.x + id.x;
  //! end
  //! if !PARALLEL
  let row = id.y * groups.x * WORKGROUP + id.x;
  let lane = 0u;
  //! end
  if (row >= dims.n) { return; }
  let first = row * COLUMNS4;
  let whole = tile.count / 4;
  var held = vec4f(-1e30, 0.0, 0.0, 0.0);
  if (tile.base > 0) { held = state[row]; }
  var tops = vec4f(held.x);
  for (var i = lane; i < whole; i += LANES) { tops = max(tops, z[first + i]); }
  if (whole < COLUMNS4) { tops = max(tops, logits(first, whole)); }
  var top = max(max(tops.x, tops.y), max(tops.z, tops.w));
  //! if PARALLEL
  shared_lanes[lane] = top;
  for (var half = LANES / 2u; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) { shared_lanes[lane] = max(shared_lanes[lane], shared_lanes[lane + half]); }
  }
  top = workgroupUniformLoad(&shared_lanes[0]);
  //! end
  var sums = vec4f();
  for (var i = lane; i < whole; i += LANES) { sums += exp(z[first + i] - top); }
  if (whole < COLUMNS4 && lane == 0) { sums += exp(logits(first, whole) - top); }
  var sum = sums.x + sums.y + sums.z + sums.w;
  //! if PARALLEL
  shared_lanes[lane] = sum;
  for (var half = LANES / 2u; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) { shared_lanes[lane] += shared_lanes[lane + half]; }
  }
  if (lane > 0) { return; }
  sum = shared_lanes[0];
  //! end
  let total = held.y * exp(held.x - top) + sum;
  let target_column = targets[row] - tile.base;
  var target_logit = held.z;
  if (target_column < tile.count) { target_logit = z[first + target_column / 4][target_column % 4]; }
  let lse = top + log(total);
  state[row] = vec4f(top, total, target_logit, lse);
  nll[row] = lse - target_logit;
}
