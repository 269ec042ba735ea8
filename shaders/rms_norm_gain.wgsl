// rms_norm_gain: dg_i = Σ_n r_n·x_ni·dy_ni, first stage: slice s sums rows s·chunk … (s + 1)·chunk − 1; grad_norm adds
// the slices in order, so that the sum has the same bits every time.
// x [N, D], dy [N, D], inverse [N] → d_gain [SLICES, stride 4·STRIDE4].
// One thread a slice and vec4.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read> inverse: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_gain: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let slice = t / D4;
  if (slice >= SLICES) { return; }
  let column = t % D4;
  let end = min(dims.n, (slice + 1) * dims.chunk);
  var sum = vec4f();
  for (var row = slice * dims.chunk; row < end; row++) {
    sum += inverse[row] * x[row * D4 + column] * dy[row * D4 + column];
  }
  d_gain[slice * STRIDE4 + column] = sum;
}
