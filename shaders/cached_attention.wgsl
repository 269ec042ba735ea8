// cached_attention: queries over a key/value cache, in which their own k and v stand already: for every head
// o_n = Σ_{j = 0}^{positions[n]} softmax_j(q_n·k_j / √Dh)·v_j with k, v of rollout rollouts[n], one pass.
// qkv [N, 3D] (only q is read), rollouts [N], positions [N], keys and values [R, context, D] → o [N, D].
// Serves prefilling (many positions of a rollout) and decoding (one position of each).
// PARTS threads a row and head. Where more than one, each takes every PARTS-th key with a running maximum of its own, and
// the parts are put together as in Dao et al. 2023, "Flash-Decoding for long-context inference"; neighbouring threads hold
// neighbouring heads of one key, so that a workgroup reads the cache in runs.
struct Dims { n: u32, step: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> rollouts: array<u32>;
@group(0) @binding(3) var<storage, read> positions: array<u32>;
@group(0) @binding(4) var<storage, read> keys: array<array<VEC, HEAD_VECS>>;
@group(0) @binding(5) var<storage, read> values: array<array<VEC, HEAD_VECS>>;
@group(0) @binding(6) var<storage, read_write> o: array<VEC>;

//! if PARALLEL
// Running maximum and sum of each thread, and its share of o.
var<workgroup> sums: array<vec2f, WORKGROUP>;
var<workgroup> shares: array<array<VEC, HEAD_VECS>, WORKGROUP>;
//! end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(num_workgroups) groups: vec3u,
) {
  let first_pair = (group.y * groups.x + group.x) * PAIRS;
  if (first_pair >= dims.n * HEADS) { return; }
  // A thread behind the last row repeats that row, and nobody asks for its part.
  let pair = min(first_pair + lane % PAIRS, dims.n * HEADS - 1);
  let row = pair / HEADS;
  let head = pair % HEADS;
  //! repeat c HEAD_VECS
  let q$c = qkv[(row * 3 * HEADS + head) * HEAD_VECS + $c] * SCALE;
  var o$c = VEC();
  //! end
  var top = -1e30;
  var total = 0.0;
  let first = rollouts[row] * CONTEXT;
  let last = first + positions[row];
  for (var j = first + lane / PAIRS; j <= last; j += PARTS) {
    let at = j * HEADS + head;
    var s = 0.0;
    //! repeat c HEAD_VECS
    s += dot(q$c, keys[at][$c]);
    //! end
    let higher = max(top, s);
    let keep = exp(top - higher);
    let p = exp(s - higher);
    top = higher;
    total = total * keep + p;
    //! repeat c HEAD_VECS
    o$c = o$c * keep + p * values[at][$c];
    //! end
  }
  //! if PARALLEL
  sums[lane] = vec2f(top, total);
  workgroupBarrier();
  var highest = -1e30;
  for (var i = lane % PAIRS; i < WORKGROUP; i += PAIRS) { highest = max(highest, sums[i].x); }
  total = 0.0;
  for (var i = lane % PAIRS; i < WORKGROUP; i += PAIRS) { total += sums[i].y * exp(sums[i].x - highest); }
  let share = exp(top - highest) / total;
  //! repeat c HEAD_VECS
  shares[lane][$c] = o$c * share;
  //! end
  workgroupBarrier();
  for (var i = lane; i < PAIRS * HEAD_VECS; i += WORKGROUP) {
    let own = i / HEAD_VECS;
    var sum = VEC();
    for (var part = own; part < WORKGROUP; part += PAIRS) { sum += shares[part][i % HEAD_VECS]; }
    if (first_pair + own < dims.n * HEADS) { o[(first_pair + own) * HEAD_VECS + i % HEAD_VECS] = sum; }
  }
  //! end
  //! if !PARALLEL
  if (first_pair + lane < dims.n * HEADS) {
    //! repeat c HEAD_VECS
    o[pair * HEAD_VECS + $c] = o$c / total;
    //! end
  }
  //! end
}
