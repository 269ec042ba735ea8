// rms_norm_backward: with r = 1/√(mean(x²) + 1e-6) and c = Σ_i x_i·g_i·dy_i / D:
// dx_i = r·g_i·dy_i − r³·c·x_i, added to dx (the gradient of the residual stream).
// x [N, D], gain [D], dy [N, D], inverse [N] (the r) → dx [N, D]. LANES threads a row, as in rms_norm.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> gain: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read> inverse: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<vec4f>;

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
      sum += dot(x[place + i] * gain[i], dy[place + i]);
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
  let r = inverse[row];
  let c = r * r * r * sum / (4.0 * D4);
  for (var i = lane; i < D4; i += LANES) {
    dx[place + i] += r * gain[i] * dy[place + i] - c * x[place + i];
  }
}
