// swiglu: activated = silu(gate)·up, silu(x) = x·σ(x); a row of `before` holds the F gates first, then the F ups.
// before [N, 2F] → activated [N, F]. Source: Shazeer 2020, "GLU Variants Improve Transformer", equation 5 with β = 1.
// One thread a vec4.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> before: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> activated: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / F4;
  if (row >= dims.n) { return; }
  let at = row * 2 * F4 + t % F4;
  let gate = before[at];
  activated[t] = gate / (1.0 + exp(-gate)) * before[at + F4];
}
