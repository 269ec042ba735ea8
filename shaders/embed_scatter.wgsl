// embed_scatter: dE[v] += Σ_{n: tokens[n] = v} dx[n], in ascending n, so that the sum has the same bits every time.
// The host sorts positions by token: `distinct` [U] the tokens that occur, `bounds` [U + 1] where each one's positions
// begin in `order` [N]. dx [N, D] → dE [V, D], added to. One thread a distinct token and vec4.
struct Dims { n: u32, chunk: u32, distinct: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> distinct: array<u32>;
@group(0) @binding(2) var<storage, read> bounds: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> dx: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> d_embed: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let item = t / D4;
  if (item >= dims.distinct) { return; }
  let column = t % D4;
  var sum = vec4f();
  for (var i = bounds[item]; i < bounds[item + 1]; i++) {
    sum += dx[order[i] * D4 + column];
  }
  let at = distinct[item] * D4 + column;
  d_embed[at] += sum;
}
