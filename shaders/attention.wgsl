// attention: causal, inside each sequence of a packed batch, with s_j = q_n·k_j / √Dh for every head:
// o_n = Σ_{j = starts[n]}^{n} exp(s_j − L_n)·v_j, L_n = log Σ_j exp(s_j), in one pass with a running maximum.
// qkv [N, 3D], starts [N] → o [N, D], lse [N, H] (the L_n, kept for the gradient); no [N, N] array.
// Source: Vaswani et al. 2017, equation 1; running maximum as in Milakov & Gimelshein 2018, algorithm 3.
// One thread a row and head: neighbouring threads hold the heads of one row and run equally long.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> o: array<VEC>;
@group(0) @binding(4) var<storage, read_write> lse: array<f32>;

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
  for (var j = starts[row]; j <= row; j++) {
    let k = (j * 3 + 1) * WIDTH_VECS + head;
    let v = k + WIDTH_VECS;
    var s = 0.0;
    //! repeat c HEAD_VECS
    s += dot(q$c, qkv[k + $c]);
    //! end
    let higher = max(top, s);
    let keep = exp(top - higher);
    let p = exp(s - higher);
    top = higher;
    total = total * keep + p;
    //! repeat c HEAD_VECS
    o$c = o$c * keep + p * qkv[v + $c];
    //! end
  }
  //! repeat c HEAD_VECS
  o[row * WIDTH_VECS + head + $c] = o$c / total;
  //! end
  lse[t] = top + log(total);
}
