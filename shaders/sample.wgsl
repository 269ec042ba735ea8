// sample: one token a row of logits. Temperature 0: the largest logit, the lowest id on a tie. Otherwise the inverse CDF
// of softmax(z / T) in id order at u, the upper 24 of 32 bits keyed by (seed, rollout, position of the new token):
// `pcg3d` of Jarzynski & Olano 2020, "Hash Functions for GPU Rendering", JCGT 9(3). The host mirrors the bits.
// z [N, 4·COLUMNS4], rollouts [N], positions [N] → next [N] (rollout, position, token, goes on), header (N, step + 1),
// sampled [limit, R] (token + 1 at row `step`; 0 = none). A row goes on until `stop` or the limit. One thread a row.
struct Dims { n: u32, step: u32 }
struct Turn { stop: u32, limit: u32, seed: u32, temperature: f32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> turn: Turn;
@group(0) @binding(2) var<storage, read> z: array<f32>;
@group(0) @binding(3) var<storage, read> rollouts: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> next: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> header: array<u32>;
@group(0) @binding(7) var<storage, read_write> sampled: array<u32>;

fn counter_bits(seed: u32, rollout: u32, position: u32) -> u32 {
  var v = vec3u(seed, rollout, position) * 1664525u + 1013904223u;
  v.x += v.y * v.z;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v ^= v >> vec3u(16);
  return v.x + v.y * v.z;
}

fn draw(first: u32, best: u32, u: f32) -> u32 {
  let top = z[first + best];
  var total = 0.0;
  for (var v = 0u; v < VOCAB; v++) { total += exp((z[first + v] - top) / turn.temperature); }
  let mark = u * total;
  var sum = 0.0;
  for (var v = 0u; v < VOCAB; v++) {
    sum += exp((z[first + v] - top) / turn.temperature);
    if (sum > mark) { return v; }
  }
  return best;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = id.y * groups.x * 64 + id.x;
  if (row == 0) {
    header[0] = dims.n;
    header[1] = dims.step + 1;
  }
  if (row >= dims.n) { return; }
  let first = row * 4 * COLUMNS4;
  var token = 0u;
  for (var v = 1u; v < VOCAB; v++) {
    if (z[first + v] > z[first + token]) { token = v; }
  }
  let rollout = rollouts[row];
  let position = positions[row] + 1;
  if (turn.temperature > 0) {
    let u = f32(counter_bits(turn.seed, rollout, position) >> 8) / 16777216.0;
    token = draw(first, token, u);
  }
  let goes_on = token != turn.stop && dims.step + 1 < turn.limit;
  next[row] = vec4u(rollout, position, token, u32(goes_on));
  sampled[dims.step * ROLLOUTS + rollout] = token + 1;
}
