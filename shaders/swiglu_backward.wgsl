// swiglu_backward, in place of what entered `swiglu`: with s = σ(gate):
// dgate = d·up·s·(1 + gate·(1 − s)); dup = d·gate·s.
// d_activated [N, F], before [N, 2F] (gates first) → their gradient in `before`. One thread a vec4.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> d_activated: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> before: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / F4;
  if (row >= dims.n) { return; }
  let at = row * 2 * F4 + t % F4;
  let gate = before[at];
  let up = before[at + F4];
  let d = d_activated[t];
  let s = 1.0 / (1.0 + exp(-gate));
  before[at] = d * up * s * (1.0 + gate * (1.0 - s));
  before[at + F4] = d * gate * s;
}
