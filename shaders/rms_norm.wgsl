// rms_norm: y = x·g / √(mean(x²) + 1e-6); inverse[n] = 1/√(mean(x[n]²) + 1e-6) is kept for the gradient.
// x [N, D], gain [D] → y [N, D], inverse [N].
// Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
// LANES threads a row (a power of 2 that divides 64); every sum has one order.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> gain: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> inverse: array<f32>;

//! if PARALLEL
var<workgroup> shared_sums: array<f32, 64>;
//! end

@compute @workgroup_size(64)
fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  //! if PARALLEL
  @builtin(local_invocation_index) own: u32,
  //! end
) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / LANES;
  let lane = t % LANES;
  //! if !PARALLEL
  if (row >= dims.n) { return; }
  //! end
  let place = row * D4;
  var sum = 0.0;
  if (row < dims.n) {
    for (var i = lane; i < D4; i += LANES) {
      let v = x[place + i];
      sum += dot(v, v);
    }
  }
  //! if PARALLEL
  shared_sums[own] = sum;
  for (var half = LANES / 2u; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) { shared_sums[own] += shared_sums[own + half]; }
  }
  workgroupBarrier();
  sum = shared_sums[own - lane];
  if (row >= dims.n) { return; }
  //! end
  let scale = 1.0 / sqrt(sum / (4.0 * D4) + 1e-6);
  if (lane == 0) { inverse[row] = scale; }
  for (var i = lane; i < D4; i += LANES) {
    y[place + i] = x[place + i] * scale * gain[i];
  }
}
