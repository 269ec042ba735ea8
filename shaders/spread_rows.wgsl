// spread_rows: the reverse of a gather of rows: y[n] = x[places[n] − 1], or 0 where places[n] = 0.
// places [N], x [R, D] → y [N, D]. Takes the gradient of the trained rows back to all positions. One thread a vec4.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / D4;
  if (row >= dims.n) { return; }
  let place = places[row];
  var value = vec4f();
  if (place > 0) { value = x[(place - 1) * D4 + t % D4]; }
  y[t] = value;
}
