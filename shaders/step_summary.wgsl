// step_summary, second stage of grad_norm and the sum of the loss, by one workgroup in a fixed order:
// norm = √Σ squares, loss = Σ_n shares[n]·nll[n], scale = clip / norm where the norm exceeds the clip, else 1.
// Where `held` is set, the loss of the micro-batches before, in `summary`, is added.
// squares [THREADS], nll [N], shares [N] → summary (loss, norm, scale, 0), also kept at ring[slot] for the host.
struct Dims { n: u32, chunk: u32 }
struct Step {
  rate: f32, beta1: f32, beta2: f32, rest1: f32,
  rest2: f32, epsilon: f32, decay: f32, clip: f32,
  correction1: f32, correction2: f32, slot: u32, held: u32,
}
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> step: Step;
@group(0) @binding(2) var<storage, read> squares: array<f32>;
@group(0) @binding(3) var<storage, read> nll: array<f32>;
@group(0) @binding(4) var<storage, read> shares: array<f32>;
@group(0) @binding(5) var<storage, read_write> summary: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> ring: array<vec4f>;

var<workgroup> sums: array<vec2f, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) id: vec3u) {
  var sum = vec2f();
  for (var i = id.x; i < dims.n; i += 64) { sum.x += shares[i] * nll[i]; }
  for (var i = id.x; i < THREADS; i += 64) { sum.y += squares[i]; }
  sums[id.x] = sum;
  workgroupBarrier();
  if (id.x > 0) { return; }
  for (var i = 1u; i < 64; i++) { sum += sums[i]; }
  if (step.held > 0) { sum.x += summary[0].x; }
  let norm = sqrt(sum.y);
  var scale = 1.0;
  if (norm > step.clip) { scale = step.clip / norm; }
  summary[0] = vec4f(sum.x, norm, scale, 0.0);
  ring[step.slot] = summary[0];
}
