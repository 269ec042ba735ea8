// grad_norm, first stage: adds the slices of every gradient in order, and to the gradient of the micro-batches before
// where `held` is set; squares the sums.
// partials [SLICES, P] → gradient [P], squares [THREADS] (Σ g² of what a thread saw). One thread a run of vec4s.
struct Step {
  rate: f32, beta1: f32, beta2: f32, rest1: f32,
  rest2: f32, epsilon: f32, decay: f32, clip: f32,
  correction1: f32, correction2: f32, slot: u32, held: u32,
}
@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> partials: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> gradient: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> squares: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  if (t >= THREADS) { return; }
  var square = 0.0;
  for (var i = t; i < COUNT4; i += THREADS) {
    var g = partials[i];
    for (var s = 1u; s < SLICES; s++) { g += partials[s * COUNT4 + i]; }
    if (step.held > 0) { g += gradient[i]; }
    gradient[i] = g;
    square += dot(g, g);
  }
  squares[t] = square;
}
