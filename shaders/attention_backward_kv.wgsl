// attention_backward, keys and values: with p_nj, δ_n and ds_nj as in attention_backward_q, and n from j to the end of
// j's sequence: dk_j = Σ_n ds_nj·q_n / √Dh; dv_j = Σ_n p_nj·do_n. A sum over queries in ascending n: no atomics.
// qkv [N, 3D], ends [N] (exclusive), lse [N, H], delta [N, H], d_o [N, D] → the k and v parts of d_qkv [N, 3D].
// Source: Dao et al. 2022, "FlashAttention", appendix B.2. One thread a row and head.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> ends: array<u32>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> delta: array<f32>;
@group(0) @binding(5) var<storage, read> d_o: array<VEC>;
@group(0) @binding(6) var<storage, read_write> d_qkv: array<VEC>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / HEADS;
  if (row >= dims.n) { return; }
  let head_index = t % HEADS;
  let head = head_index * HEAD_VECS;
  let own = (row * 3 + 1) * WIDTH_VECS + head;
  //! repeat c HEAD_VECS
  let k$c = qkv[own + $c] * SCALE;
  let v$c = qkv[own + WIDTH_VECS + $c];
  var dk$c = VEC();
  var dv$c = VEC();
  //! end
  let end = ends[row];
  for (var n = row; n < end; n++) {
    var s = 0.0;
    var dp = 0.0;
    //! repeat c HEAD_VECS
    let q$c = qkv[n * 3 * WIDTH_VECS + head + $c];
    let g$c = d_o[n * WIDTH_VECS + head + $c];
    s += dot(q$c, k$c);
    dp += dot(g$c, v$c);
    //! end
    let p = exp(s - lse[n * HEADS + head_index]);
    let ds = p * (dp - delta[n * HEADS + head_index]);
    //! repeat c HEAD_VECS
    dk$c += ds * q$c;
    dv$c += p * g$c;
    //! end
  }
  //! repeat c HEAD_VECS
  d_qkv[own + $c] = dk$c * SCALE;
  d_qkv[own + WIDTH_VECS + $c] = dv$c;
  //! end
}
