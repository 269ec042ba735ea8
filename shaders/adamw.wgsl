// adamw: with ĝ = g·scale (clipping) and t the count of steps:
// m = β1·m + (1 − β1)·ĝ; v = β2·v + (1 − β2)·ĝ²; θ = θ − lr·(m/(1 − β1^t) / (√(v/(1 − β2^t)) + ε) + λ·θ).
// λ is 0 on gains: decays [P / 64] says for each block of 64 elements whether it decays.
// gradient [P], summary (.z = scale) → parameters, moment1, moment2 [P]. rest1 = 1 − β1, correction1 = 1 − β1^t.
// Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2. One thread a vec4.
struct Step {
  rate: f32, beta1: f32, beta2: f32, rest1: f32,
  rest2: f32, epsilon: f32, decay: f32, clip: f32,
  correction1: f32, correction2: f32, slot: u32, held: u32,
}
@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(2) var<storage, read> summary: array<vec4f>;
@group(0) @binding(3) var<storage, read> decays: array<u32>;
@group(0) @binding(4) var<storage, read_write> parameters: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> moment1: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> moment2: array<vec4f>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  if (t >= COUNT4) { return; }
  let g = gradient[t] * summary[0].z;
  let m = step.beta1 * moment1[t] + step.rest1 * g;
  let v = step.beta2 * moment2[t] + step.rest2 * g * g;
  moment1[t] = m;
  moment2[t] = v;
  let theta = parameters[t];
  let direction = m / step.correction1 / (sqrt(v / step.correction2) + step.epsilon);
  let decay = select(0.0, step.decay, decays[t / 16] == 1);
  parameters[t] = theta - step.rate * (direction + decay * theta);
}
