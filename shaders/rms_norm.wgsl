// rms_norm: y = x·g / √(mean(x²) + 1e-6); inverse[n] = 1/√(mean(x[n]²) + 1e-6) is kept for the gradient.
// x [N, D], gain [D] → y [N, D], inverse [N].
// Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4. One thread a row.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> gain: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> inverse: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = id.y * groups.x * 64 + id.x;
  if (row >= dims.n) { return; }
  let place = row * D4;
  var sum = 0.0;
  for (var i = 0u; i < D4; i++) {
    let v = x[place + i];
    sum += dot(v, v);
  }
  let scale = 1.0 / sqrt(sum / (4.0 * D4) + 1e-6);
  inverse[row] = scale;
  for (var i = 0u; i < D4; i++) {
    y[place + i] = x[place + i] * scale * gain[i];
  }
}
