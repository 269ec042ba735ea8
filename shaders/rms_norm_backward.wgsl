// rms_norm_backward: with r = 1/√(mean(x²) + 1e-6) and c = Σ_i x_i·g_i·dy_i / D:
// dx_i = r·g_i·dy_i − r³·c·x_i, added to dx (the gradient of the residual stream).
// x [N, D], gain [D], dy [N, D], inverse [N] (the r) → dx [N, D]. One thread a row.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> gain: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read> inverse: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = id.y * groups.x * 64 + id.x;
  if (row >= dims.n) { return; }
  let place = row * D4;
  let r = inverse[row];
  var sum = 0.0;
  for (var i = 0u; i < D4; i++) {
    sum += dot(x[place + i] * gain[i], dy[place + i]);
  }
  let c = r * r * r * sum / (4.0 * D4);
  for (var i = 0u; i < D4; i++) {
    dx[place + i] += r * gain[i] * dy[place + i] - c * x[place + i];
  }
}
