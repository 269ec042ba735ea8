// attention: causal, inside each sequence of a packed batch, with s_j = q_n·k_j / √Dh for every head:
// o_n = Σ_{j = starts[n]}^{n} exp(s_j − L_n)·v_j, L_n = log Σ_j exp(s_j), in one pass with a running maximum.
// qkv [N, 3D], starts [N] → o [N, D], lse [N, H] (the L_n, kept for the gradient); no [N, N] array.
// Source: Vaswani et al. 2017, equation 1; running maximum as in Milakov & Gimelshein 2018, algorithm 3.
// One thread a head and BLOCK neighbouring rows, which share the loads of k and v: keys outside a row's own range weigh
// exactly 0. Neighbouring threads hold the heads of the same rows and run equally long.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<VEC>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> o: array<VEC>;
@group(0) @binding(4) var<storage, read_write> lse: array<f32>;

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
  var top$r = -1e30;
  var total$r = 0.0;
  //! repeat c HEAD_VECS
  let q$r_$c = qkv[row$r * 3 * WIDTH_VECS + head + $c] * SCALE;
  var o$r_$c = VEC();
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
      let visible = j >= start$r && j <= row$r;
      var s = 0.0;
      //! repeat c HEAD_VECS
      s += dot(q$r_$c, k$c);
      //! end
      let higher = select(top$r, max(top$r, s), visible);
      let keep = exp(top$r - higher);
      let p = select(0.0, exp(s - higher), visible);
      top$r = higher;
      total$r = total$r * keep + p;
      //! repeat c HEAD_VECS
      o$r_$c = o$r_$c * keep + p * v$c;
      //! end
    }
    //! end
  }
  //! repeat r BLOCK
  if (block + $r < dims.n) {
    //! repeat c HEAD_VECS
    o[row$r * WIDTH_VECS + head + $c] = o$r_$c / total$r;
    //! end
    lse[row$r * HEADS + head_index] = top$r + log(total$r);
  }
  //! end
}
