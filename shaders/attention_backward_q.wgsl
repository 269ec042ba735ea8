// attention_backward, queries: with p_nj = exp(s_nj − L_n) and δ_n = do_n·o_n:
// ds_nj = p_nj·(do_n·v_j − δ_n); dq_n = Σ_j ds_nj·k_j / √Dh.
// qkv [N, 3D], starts [N], o [N, D], lse [N, H], d_o [N, D] → the q part of d_qkv [N, 3D]; delta [N, H] for the keys.
// Source: Dao et al. 2022, "FlashAttention", appendix B.2. One thread a row and head.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> o: array<VEC>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> d_o: array<VEC>;
@group(0) @binding(6) var<storage, read_write> d_qkv: array<VEC>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / HEADS;
  if (row >= dims.n) { return; }
  let head = t % HEADS * HEAD_VECS;
  var product = 0.0;
  //! repeat c HEAD_VECS
  let q$c = qkv[row * 3 * WIDTH_VECS + head + $c] * SCALE;
  let g$c = d_o[row * WIDTH_VECS + head + $c];
  product += dot(g$c, o[row * WIDTH_VECS + head + $c]);
  var d$c = VEC();
  //! end
  delta[t] = product;
  let norm = lse[t];
  for (var j = starts[row]; j <= row; j++) {
    let k = (j * 3 + 1) * WIDTH_VECS + head;
    let v = k + WIDTH_VECS;
    var s = 0.0;
    var dp = 0.0;
    //! repeat c HEAD_VECS
    let k$c = qkv[k + $c];
    s += dot(q$c, k$c);
    dp += dot(g$c, qkv[v + $c]);
    //! end
    let ds = exp(s - norm) * (dp - product);
    //! repeat c HEAD_VECS
    d$c += ds * k$c;
    //! end
  }
  //! repeat c HEAD_VECS
  d_qkv[row * 3 * WIDTH_VECS + head + $c] = d$c * SCALE;
  //! end
}
