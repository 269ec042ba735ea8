// sample: the truncated distribution of a row of logits, drawn from or asked. p = softmax(z / T) over the tokens that the
// GRAMMAR allows, cut to the NUCLEUS: z_v ≥ edge, the largest logit whose Σ_{z_v ≥ edge} p_v reaches top_p (Holtzman et al.
// 2020, section 3.1), and renormalised. Temperature 0: all mass on the largest logit, the lowest id on a tie.
// DRAW: inverse CDF in id order at u, the upper 24 of 32 bits keyed by (seed, rollout, position of the new token): `pcg3d`
// of Jarzynski & Olano 2020, "Hash Functions for GPU Rendering", JCGT 9(3). The host mirrors the bits.
//   z [N, 4·COLUMNS4] (what is forbidden is overwritten), rollouts [N], positions [N] → next [N] (rollout, position, token,
//   goes on), header (N, step + 1), sampled [limit, R] (token + 1, bits of the log-probability; row = step). A row goes on
//   until `stop` or the limit.
// Otherwise: z, targets [N] → nll [N]: −log p of the target, −1 where it has no mass.
// grammar: class of each token [V], then the state after each class [S, C], −1 = forbidden. states: by rollout, moved on
// by the token drawn, or by row [N].
// LANES threads a row (a power of 2), a workgroup where more than one. The edge is found without sorting, on the weights
// exp((z − max z) / T), which take the logits' place: each pass adds up the mass above four marks between `low`, whose mass
// reaches, and `high`, the largest weight that may still be the edge, and `high` falls to a weight that is there, so that
// the end is exact. Sums have one order.
struct Dims { n: u32, step: u32 }
struct Turn { stop: u32, limit: u32, seed: u32, temperature: f32, top_p: f32, class_count: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<uniform> turn: Turn;
@group(0) @binding(2) var<storage, read_write> z: array<vec4f>;
//! if DRAW
@group(0) @binding(3) var<storage, read> rollouts: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> next: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> header: array<u32>;
@group(0) @binding(7) var<storage, read_write> sampled: array<vec2u>;
//! if GRAMMAR
@group(0) @binding(8) var<storage, read> grammar: array<i32>;
@group(0) @binding(9) var<storage, read_write> states: array<u32>;
//! end
//! end
//! if !DRAW
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read_write> nll: array<f32>;
//! if GRAMMAR
@group(0) @binding(5) var<storage, read> grammar: array<i32>;
@group(0) @binding(6) var<storage, read> states: array<u32>;
//! end
//! end

// Stands for no logit; everything real is above LEAST.
const forbidden_logit = -3e38;
const least_logit = -1e38;

//! if PARALLEL
var<workgroup> shared_a: array<vec4f, LANES>;
var<workgroup> shared_b: array<vec4f, LANES>;
//! end

// The largest logit and its id.
struct Largest { top: f32, best: u32 }

fn allowed(v: u32, state: u32) -> bool {
  //! if GRAMMAR
  if (v >= VOCAB) { return false; }
  return grammar[VOCAB + state * turn.class_count + u32(grammar[v])] >= 0;
  //! end
  //! if !GRAMMAR
  return v < VOCAB;
  //! end
}

// Forbids in place what the grammar does not allow and what is padding; finds the largest of the rest.
fn survey(first: u32, lane: u32, state: u32) -> Largest {
  var largest = Largest(forbidden_logit, 0);
  for (var i = lane; i < COLUMNS4; i += LANES) {
    var own = z[first + i];
    //! if GRAMMAR
    own = select(vec4f(forbidden_logit), own, vec4<bool>(
      allowed(4 * i, state), allowed(4 * i + 1, state), allowed(4 * i + 2, state), allowed(4 * i + 3, state)));
    z[first + i] = own;
    //! end
    //! if RAGGED
    //! if !GRAMMAR
    if (i == COLUMNS4 - 1) {
      own = select(vec4f(forbidden_logit), own, vec4u(4 * i) + vec4u(0, 1, 2, 3) < vec4u(VOCAB));
      z[first + i] = own;
    }
    //! end
    //! end
    let most = max(max(own.x, own.y), max(own.z, own.w));
    if (most > largest.top) { largest = Largest(most, i); }
  }
  // Until here `best` counts vec4s.
  let tied = z[first + largest.best] == vec4f(largest.top);
  largest.best = 4 * largest.best + select(select(select(3u, 2u, tied.z), 1u, tied.y), 0u, tied.x);
  //! if PARALLEL
  shared_a[lane] = vec4f(largest.top, f32(largest.best), 0, 0);
  for (var half = LANES / 2u; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) {
      let a = shared_a[lane];
      let b = shared_a[lane + half];
      let second = b.x > a.x || (b.x == a.x && b.y < a.y);
      shared_a[lane] = select(a, b, second);
    }
  }
  // Forbidden logits are read by other lanes from here on.
  storageBarrier();
  let found = workgroupUniformLoad(&shared_a[0]);
  largest = Largest(found.x, u32(found.y));
  //! end
  return largest;
}

//! if NUCLEUS
// Adds up over the lanes, in one order.
fn add_up(lane: u32, own: vec4f) -> vec4f {
  //! if PARALLEL
  workgroupBarrier();
  shared_a[lane] = own;
  for (var half = LANES / 2u; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) { shared_a[lane] += shared_a[lane + half]; }
  }
  return workgroupUniformLoad(&shared_a[0]);
  //! end
  //! if !PARALLEL
  return own;
  //! end
}

// Puts weights in the place of logits: 1 for the largest, 0 for what is forbidden. Gives their sum.
fn weigh(first: u32, lane: u32, top: f32) -> f32 {
  var total = 0.0;
  for (var i = lane; i < COLUMNS4; i += LANES) {
    let own = z[first + i];
    let weights = min(exp((own - top) / turn.temperature), vec4f(1));
    let kept = select(select(vec4f(), weights, own >= vec4f(least_logit)), vec4f(1), own == vec4f(top));
    z[first + i] = kept;
    total += (kept.x + kept.y) + (kept.z + kept.w);
  }
  //! if PARALLEL
  // Other lanes read these weights later on.
  storageBarrier();
  //! end
  return add_up(lane, vec4f(total, 0, 0, 0)).x;
}

fn nucleus_edge(first: u32, lane: u32, total: f32) -> f32 {
  let goal = turn.top_p * total;
  // All tokens below this together have less than what may be cut.
  var low = max(0.999 * (1 - turn.top_p) * total / VOCAB, 1e-30);
  var high = 1.0;
  while (low < high) {
    // Evenly spaced in their logarithm; `high` itself is the last, to the bit.
    let ratio = log2(high / low) / 4;
    let marks = min(vec4f(low * exp2(ratio * vec3f(1, 2, 3)), high), vec4f(high));
    var mass = vec4f();
    var below = vec4f();
    for (var i = lane; i < COLUMNS4; i += LANES) {
      let own = z[first + i];
      //! repeat c 4
      let reaches$c = vec4f(own[$c]) >= marks;
      let above$c = select(vec4f(), vec4f(own[$c]), reaches$c);
      let under$c = select(vec4f(own[$c]), vec4f(), reaches$c);
      //! end
      mass += (above0 + above1) + (above2 + above3);
      below = max(below, max(max(under0, under1), max(under2, under3)));
    }
    mass = add_up(lane, mass);
    //! if PARALLEL
    shared_b[lane] = below;
    for (var half = LANES / 2u; half > 0; half /= 2) {
      workgroupBarrier();
      if (lane < half) { shared_b[lane] = max(shared_b[lane], shared_b[lane + half]); }
    }
    below = workgroupUniformLoad(&shared_b[0]);
    //! end
    if (mass.w >= goal) { break; }
    // The edge lies at or above the last mark that reaches, below the first that does not.
    //! repeat c 3
    if (mass[$c] >= goal) { low = marks[$c]; }
    //! end
    high = select(select(select(below.x, below.y, mass.x >= goal), below.z, mass.y >= goal), below.w, mass.z >= goal);
  }
  return high;
}
//! end

// Weights of four tokens as they stand in z, 0 below the edge.
fn weights4(own: vec4f, top: f32, edge: f32) -> vec4f {
  //! if NUCLEUS
  return select(vec4f(), own, own >= vec4f(edge));
  //! end
  //! if !NUCLEUS
  return select(vec4f(), exp((own - top) / turn.temperature), own >= vec4f(edge));
  //! end
}

fn log_weight(value: f32, top: f32) -> f32 {
  //! if NUCLEUS
  return log(value);
  //! end
  //! if !NUCLEUS
  return (value - top) / turn.temperature;
  //! end
}

// Weights of a lane's run of neighbouring tokens.
fn run_total(first: u32, lane: u32, top: f32, edge: f32) -> f32 {
  var total = 0.0;
  for (var i = lane * RUN4; i < min(lane * RUN4 + RUN4, COLUMNS4); i++) {
    let own = weights4(z[first + i], top, edge);
    total += (own.x + own.y) + (own.z + own.w);
  }
  return total;
}

//! if DRAW
fn counter_bits(seed: u32, rollout: u32, position: u32) -> u32 {
  var v = vec3u(seed, rollout, position) * 1664525u + 1013904223u;
  v.x += v.y * v.z;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v ^= v >> vec3u(16);
  return v.x + v.y * v.z;
}

// The first token of the run whose cumulative weight passes `mark`: first the vec4, by the sums of `run_total`, then inside
// it, where the last token with weight stands in if rounding lets none pass.
fn walk(first: u32, lane: u32, top: f32, edge: f32, mark: f32, best: u32) -> u32 {
  var sum = 0.0;
  for (var i = lane * RUN4; i < min(lane * RUN4 + RUN4, COLUMNS4); i++) {
    let own = weights4(z[first + i], top, edge);
    let after = sum + ((own.x + own.y) + (own.z + own.w));
    if (after > mark) {
      let sum0 = sum + own.x;
      let sum1 = sum0 + own.y;
      let sum2 = sum1 + own.z;
      let sum3 = sum2 + own.w;
      let last = select(select(select(0u, 1u, own.y > 0), 2u, own.z > 0), 3u, own.w > 0);
      return 4 * i + select(select(select(select(last, 3u, sum3 > mark), 2u, sum2 > mark), 1u, sum1 > mark), 0u, sum0 > mark);
    }
    sum = after;
  }
  return best;
}

fn finish(row: u32, token: u32, log_p: f32) {
  let rollout = rollouts[row];
  let goes_on = token != turn.stop && dims.step + 1 < turn.limit;
  next[row] = vec4u(rollout, positions[row] + 1, token, u32(goes_on));
  sampled[dims.step * ROLLOUTS + rollout] = vec2u(token + 1, bitcast<u32>(log_p));
  //! if GRAMMAR
  states[rollout] = u32(grammar[VOCAB + states[rollout] * turn.class_count + u32(grammar[token])]);
  //! end
}
//! end

@compute @workgroup_size(WORKGROUP)
fn main(
  //! if PARALLEL
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  //! end
  //! if !PARALLEL
  @builtin(global_invocation_id) id: vec3u,
  //! end
  @builtin(num_workgroups) groups: vec3u,
) {
  //! if PARALLEL
  let row = group.y * groups.x + group.x;
  //! end
  //! if !PARALLEL
  let row = id.y * groups.x * WORKGROUP + id.x;
  let lane = 0u;
  //! end
  //! if DRAW
  if (row == 0 && lane == 0) {
    header[0] = dims.n;
    header[1] = dims.step + 1;
  }
  //! end
  if (row >= dims.n) { return; }
  let first = row * COLUMNS4;
  var state = 0u;
  //! if GRAMMAR
  //! if DRAW
  state = states[rollouts[row]];
  //! end
  //! if !DRAW
  state = states[row];
  //! end
  //! end
  let largest = survey(first, lane, state);
  if (turn.temperature == 0) {
    if (lane == 0) {
      //! if DRAW
      finish(row, largest.best, 0.0);
      //! end
      //! if !DRAW
      nll[row] = select(-1.0, 0.0, targets[row] == largest.best && largest.top > least_logit);
      //! end
    }
    return;
  }
  var edge = least_logit;
  //! if NUCLEUS
  edge = nucleus_edge(first, lane, weigh(first, lane, largest.top));
  //! end
  let own = run_total(first, lane, largest.top, edge);
  var before = 0.0;
  var total = own;
  //! if PARALLEL
  workgroupBarrier();
  shared_a[lane].x = own;
  workgroupBarrier();
  total = 0.0;
  for (var i = 0u; i < LANES; i++) {
    if (i == lane) { before = total; }
    total += shared_a[i].x;
  }
  //! end
  //! if DRAW
  let bits = counter_bits(turn.seed, rollouts[row], positions[row] + 1);
  let mark = f32(bits >> 8) / 16777216.0 * total;
  // Where the logits are no numbers nothing passes, and the first lane still answers.
  if ((mark >= before && mark < before + own) || (lane == 0 && !(mark < total))) {
    let token = walk(first, lane, largest.top, edge, mark - before, largest.best);
    let value = z[first + token / 4][token % 4];
    finish(row, token, log_weight(value, largest.top) - log(total));
  }
  //! end
  //! if !DRAW
  if (lane == 0) {
    let value = z[first + targets[row] / 4][targets[row] % 4];
    let inside = value >= edge && value > least_logit;
    nll[row] = select(-1.0, log(total) - log_weight(value, largest.top), inside);
  }
  //! end
}
