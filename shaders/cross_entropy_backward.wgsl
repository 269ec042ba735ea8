// cross_entropy_backward, one tile of the vocabulary, in place of the logits:
// dz_nv = w_n / Σw · (exp(z_nv − lse_n) − [v = targets[n]]); columns from `count` on become 0.
// z [N, 4·COLUMNS4], state [N] (.w = lse), targets [N], shares [N] (w_n / Σw) → dz in z. One thread a vec4.
struct Dims { n: u32, chunk: u32 }
struct Tile { base: u32, count: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> tile: Tile;
@group(0) @binding(2) var<storage, read_write> z: array<vec4f>;
@group(0) @binding(3) var<storage, read> state: array<vec4f>;
@group(0) @binding(4) var<storage, read> targets: array<u32>;
@group(0) @binding(5) var<storage, read> shares: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / COLUMNS4;
  if (row >= dims.n) { return; }
  let column = t % COLUMNS4 * 4 + vec4u(0, 1, 2, 3);
  let p = exp(z[t] - state[row].w);
  let hit = vec4f(column == vec4u(targets[row] - tile.base));
  z[t] = select(vec4f(), (p - hit) * shares[row], column < vec4u(tile.count));
}
