// attention_backward, queries: with p_nj = exp(s_nj − L_n) and δ_n = do_n·o_n:
// ds_nj = p_nj·(do_n·v_j − δ_n); dq_n = Σ_j ds_nj·k_j / √Dh.
// qkv [N, 3D], starts [N], o [N, D], lse [N, H], d_o [N, D] → the q part of d_qkv [N, 3D]; delta [N, H] for the keys.
// Source: Dao et al. 2022, "FlashAttention", appendix B.2. One thread a head and BLOCK neighbouring rows, as in attention.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> o: array<VEC>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> d_o: array<VEC>;
@group(0) @binding(6) var<storage, read_write> d_qkv: array<VEC>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * WORKGROUP + id.x;
  let block = t / HEADS * BLOCK;
  if (block >= dims.n) { return; }
  let head_index = t % HEADS;
  let head = head_index * HEAD_VECS;
  let last = dims.n - 1;
  //! repeat r BLOCK
  let row$r = min(block + $r, last);
  let start$r = starts[row$r];
  let norm$r = lse[row$r * HEADS + head_index];
  var delta$r = 0.0;
  //! repeat c HEAD_VECS
  let q$r_$c = qkv[row$r * 3 * WIDTH_VECS + head + $c] * SCALE;
  let g$r_$c = d_o[row$r * WIDTH_VECS + head + $c];
  delta$r += dot(g$r_$c, o[row$r * WIDTH_VECS + head + $c]);
  var d$r_$c = VEC();
  //! end
  //! end
  let end = min(block + BLOCK, dims.n);
  for (var j = start0; j < end; j++) {
    let k = (j * 3 + 1) * WIDTH_VECS + head;
    //! repeat c HEAD_VECS
    let k$c = qkv[k + $c];
    let v$c = qkv[k + WIDTH_VECS + $c];
    //! end
    //! repeat r BLOCK
    {
      var s = 0.0;
      var dp = 0.0;
      //! repeat c HEAD_VECS
      s += dot(q$r_$c, k$c);
      dp += dot(g$r_$c, v$c);
      //! end
      let ds = select(0.0, exp(s - norm$r) * (dp - delta$r), j >= start$r && j <= row$r);
      //! repeat c HEAD_VECS
      d$r_$c += ds * k$c;
      //! end
    }
    //! end
  }
  //! repeat r BLOCK
  if (block + $r < dims.n) {
    delta[row$r * HEADS + head_index] = delta$r;
    //! repeat c HEAD_VECS
    d_qkv[row$r * 3 * WIDTH_VECS + head + $c] = d$r_$c * SCALE;
    //! end
  }
  //! end
}
