// embed_gather: x[n] = E[tokens[n]].
// tokens [N] u32, embed [V, D] → x [N, D]. One thread a vec4.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> embed: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / D4;
  if (row >= dims.n) { return; }
  x[t] = embed[tokens[row] * D4 + t % D4];
}
