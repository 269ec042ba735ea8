// attention_backward, keys and values: with p_nj, δ_n and ds_nj as in attention_backward_q, and n from j to the end of
// j's sequence: dk_j = Σ_n ds_nj·q_n / √Dh; dv_j = Σ_n p_nj·do_n. A sum over queries in ascending n: no atomics.
// qkv [N, 3D], ends [N] (exclusive), lse [N, H], delta [N, H], d_o [N, D] → the k and v parts of d_qkv [N, 3D].
// Source: Dao et al. 2022, "FlashAttention", appendix B.2. One thread a head and BLOCK neighbouring rows, which share the
// loads of q and do: queries outside a key's own range weigh exactly 0.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> ends: array<u32>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> delta: array<f32>;
@group(0) @binding(5) var<storage, read> d_o: array<VEC>;
@group(0) @binding(6) var<storage, read_write> d_qkv: array<VEC>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * WORKGROUP + id.x;
  let block = t / HEADS * BLOCK;
  if (block >= dims.n) { return; }
  let head_index = t % HEADS;
  let head = head_index * HEAD_VECS;
  let last = dims.n - 1;
  var end = 0u;
  //! repeat r BLOCK
  let row$r = min(block + $r, last);
  let own$r = (row$r * 3 + 1) * WIDTH_VECS + head;
  let end$r = ends[row$r];
  end = max(end, end$r);
  //! repeat c HEAD_VECS
  let k$r_$c = qkv[own$r + $c] * SCALE;
  let v$r_$c = qkv[own$r + WIDTH_VECS + $c];
  var dk$r_$c = VEC();
  var dv$r_$c = VEC();
  //! end
  //! end
  for (var n = block; n < end; n++) {
    let norm = lse[n * HEADS + head_index];
    let offset = delta[n * HEADS + head_index];
    //! repeat c HEAD_VECS
    let q$c = qkv[n * 3 * WIDTH_VECS + head + $c];
    let g$c = d_o[n * WIDTH_VECS + head + $c];
    //! end
    //! repeat r BLOCK
    {
      var s = 0.0;
      var dp = 0.0;
      //! repeat c HEAD_VECS
      s += dot(q$c, k$r_$c);
      dp += dot(g$c, v$r_$c);
      //! end
      let p = select(0.0, exp(s - norm), n >= row$r && n < end$r);
      let ds = p * (dp - offset);
      //! repeat c HEAD_VECS
      dk$r_$c += ds * q$c;
      dv$r_$c += p * g$c;
      //! end
    }
    //! end
  }
  //! repeat r BLOCK
  if (block + $r < dims.n) {
    //! repeat c HEAD_VECS
    d_qkv[own$r + $c] = dk$r_$c * SCALE;
    d_qkv[own$r + WIDTH_VECS + $c] = dv$r_$c;
    //! end
  }
  //! end
}
