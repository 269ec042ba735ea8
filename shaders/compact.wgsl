// compact: keeps the rows that go on, in their order, so that finished rollouts cost nothing: a row moves to the count of
// kept rows before it, and n becomes the count of all.
// header (N, step), next [N] (rollout, position, token, goes on) → dims (n, step), rollouts, positions, tokens [n].
// One thread a row; each counts for itself, which needs no barrier and gives one order.
@group(0) @binding(0) var<storage, read> header: array<u32>;
@group(0) @binding(1) var<storage, read> next: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> dims: array<u32>;
@group(0) @binding(3) var<storage, read_write> rollouts: array<u32>;
@group(0) @binding(4) var<storage, read_write> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> tokens: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = id.y * groups.x * 64 + id.x;
  let n = header[0];
  if (row == 0 && n == 0) {
    dims[0] = 0;
    dims[1] = header[1];
  }
  if (row >= n) { return; }
  var before = 0u;
  for (var i = 0u; i < row; i++) { before += next[i].w; }
  let own = next[row];
  if (own.w == 1) {
    rollouts[before] = own.x;
    positions[before] = own.y;
    tokens[before] = own.z;
  }
  if (row == n - 1) {
    dims[0] = before + own.w;
    dims[1] = header[1];
  }
}
