// matmul_nt: C[N, M] = A[N, K] · B[M, K]ᵀ (the layer y = x · Wᵀ). Options: RESIDUAL adds a residual [N, M];
// GELU also writes gelu(C), gelu(x) = x·σ(2√(2/π)·(x + 0.044715·x³)) (Hendrycks & Gimpel 2016, section 2).
// K is a multiple of 4; rows of C have 4·M4 ≥ M columns, those from M on hold no meaning. A thread makes a tile of
// ROWS rows × COLS4 vec4 columns in registers; no barrier and no shared memory, loads are whole vec4s along K.
// With SUBGROUPS (where a subgroup is 4 lanes, as in SwiftShader, and a load costs as much as ten products), each lane
// loads a quarter of B's tile and the others have it by broadcast.
//! if SUBGROUPS
enable subgroups;
diagnostic(off, subgroup_uniformity);
//! end
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> a: array<vec4f>;
@group(0) @binding(2) var<storage, read> b: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
//! if RESIDUAL
@group(0) @binding(4) var<storage, read> residual: array<vec4f>;
//! end
//! if GELU
@group(0) @binding(4) var<storage, read_write> activated: array<vec4f>;

fn gelu(x: vec4f) -> vec4f {
  return x / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
}
//! end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  //! if SUBGROUPS
  @builtin(subgroup_invocation_id) lane: u32,
  //! end
) {
  let t = id.y * groups.x * WORKGROUP + id.x;
  //! if SUBGROUPS
  // Four lanes hold the same columns of neighbouring tiles of rows; they leave together.
  let quad = t / 4;
  let row = (quad / TILES * 4 + t % 4) * ROWS;
  if (quad / TILES * 4 * ROWS >= dims.n) { return; }
  let column = quad % TILES * COLS4;
  //! end
  //! if !SUBGROUPS
  let row = t / TILES * ROWS;
  if (row >= dims.n) { return; }
  let column = t % TILES * COLS4;
  //! end
  let last = dims.n - 1;
  //! repeat i ROWS
  let a_row$i = min(row + $i, last) * K4;
  //! repeat j COLS4
  var c$i_$j = vec4f();
  //! end
  //! end
  //! repeat j COLS4
  //! if SUBGROUPS
  let b_row$j = min((column + $j) * 4 + lane, LAST) * K4;
  //! end
  //! if !SUBGROUPS
  let b_row$j_0 = min((column + $j) * 4, LAST) * K4;
  let b_row$j_1 = min((column + $j) * 4 + 1, LAST) * K4;
  let b_row$j_2 = min((column + $j) * 4 + 2, LAST) * K4;
  let b_row$j_3 = min((column + $j) * 4 + 3, LAST) * K4;
  //! end
  //! end
  for (var k = 0u; k < K4; k++) {
    //! repeat i ROWS
    let a$i = a[a_row$i + k];
    //! end
    //! repeat j COLS4
    {
      //! if SUBGROUPS
      let shared_b = b[b_row$j + k];
      let b0 = subgroupBroadcast(shared_b, 0);
      let b1 = subgroupBroadcast(shared_b, 1);
      let b2 = subgroupBroadcast(shared_b, 2);
      let b3 = subgroupBroadcast(shared_b, 3);
      //! end
      //! if !SUBGROUPS
      let b0 = b[b_row$j_0 + k];
      let b1 = b[b_row$j_1 + k];
      let b2 = b[b_row$j_2 + k];
      let b3 = b[b_row$j_3 + k];
      //! end
      //! repeat i ROWS
      c$i_$j += vec4f(dot(a$i, b0), dot(a$i, b1), dot(a$i, b2), dot(a$i, b3));
      //! end
    }
    //! end
  }
  //! repeat i ROWS
  if (row + $i < dims.n) {
    let at = (row + $i) * M4 + column;
    //! repeat j COLS4
    //! if RAGGED
    if (column + $j < M4)
    //! end
    {
      //! if RESIDUAL
      c[at + $j] = residual[at + $j] + c$i_$j;
      //! end
      //! if !RESIDUAL
      c[at + $j] = c$i_$j;
      //! end
      //! if GELU
      activated[at + $j] = gelu(c$i_$j);
      //! end
    }
    //! end
  }
  //! end
}
