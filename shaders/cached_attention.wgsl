// decode_attention: queries over a key/value cache, in which their own k and v stand already: for every head
// o_n = Σ_{j = 0}^{positions[n]} softmax_j(q_n·k_j / √Dh)·v_j with k, v of rollout rollouts[n], one pass.
// qkv [N, 3D] (only q is read), rollouts [N], positions [N], keys and values [R, context, D] → o [N, D].
// Serves prefilling (many positions of a rollout) and decoding (one position of each). One thread a row and head.
struct Dims { n: u32, step: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> rollouts: array<u32>;
@group(0) @binding(3) var<storage, read> positions: array<u32>;
@group(0) @binding(4) var<storage, read> keys: array<VEC>;
@group(0) @binding(5) var<storage, read> values: array<VEC>;
@group(0) @binding(6) var<storage, read_write> o: array<VEC>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / HEADS;
  if (row >= dims.n) { return; }
  let head = t % HEADS * HEAD_VECS;
  //! repeat c HEAD_VECS
  let q$c = qkv[row * 3 * WIDTH_VECS + head + $c] * SCALE;
  var o$c = VEC();
  //! end
  var top = -1e30;
  var total = 0.0;
  let first = rollouts[row] * CONTEXT;
  let last = first + positions[row];
  for (var j = first; j <= last; j++) {
    let at = j * WIDTH_VECS + head;
    var s = 0.0;
    //! repeat c HEAD_VECS
    s += dot(q$c, keys[at + $c]);
    //! end
    let higher = max(top, s);
    let keep = exp(top - higher);
    let p = exp(s - higher);
    top = higher;
    total = total * keep + p;
    //! repeat c HEAD_VECS
    o$c = o$c * keep + p * values[at + $c];
    //! end
  }
  //! repeat c HEAD_VECS
  o[row * WIDTH_VECS + head + $c] = o$c / total;
  //! end
}
