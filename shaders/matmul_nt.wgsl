// matmul_nt: C[N, M] = A[N, K] · B[M, K]ᵀ (the layer y = x · Wᵀ). Options: RESIDUAL adds a residual [N, M];
// GELU also writes gelu(C), gelu(x) = x·σ(2√(2/π)·(x + 0.044715·x³)) (Hendrycks & Gimpel 2016, section 2).
// K is a multiple of 4; rows of C have 4·M4 ≥ M columns, those from M on hold no meaning. A thread makes a tile of
// ROWS rows × COLS4 vec4 columns in registers; no barrier and no shared memory, loads are whole vec4s along K.
// Sizes come as a uniform, so that one compilation serves every layer.
// With SUBGROUPS (where a subgroup is 4 lanes, as in SwiftShader, and a load costs as much as ten products), each lane
// loads a quarter of B's tile and the others have it by broadcast.
//! if SUBGROUPS
enable subgroups;
diagnostic(off, subgroup_uniformity);
//! end
struct Dims { n: u32, chunk: u32 }
struct Size { m: u32, k4: u32, m4: u32, tiles: u32, row_tiles: u32, stride4: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(SIZE_SLOT) var<uniform> size: Size;
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
  let row = (quad / size.tiles * 4 + t % 4) * ROWS;
  if (quad / size.tiles * 4 * ROWS >= dims.n) { return; }
  let column = quad % size.tiles * COLS4;
  //! end
  //! if !SUBGROUPS
  let row = t / size.tiles * ROWS;
  if (row >= dims.n) { return; }
  let column = t % size.tiles * COLS4;
  //! end
  let last = dims.n - 1;
  let last_m = size.m - 1;
  //! repeat i ROWS
  let a_row$i = min(row + $i, last) * size.k4;
  //! repeat j COLS4
  var c$i_$j = vec4f();
  //! end
  //! end
  //! repeat j COLS4
  //! if SUBGROUPS
  let b_row$j = min((column + $j) * 4 + lane, last_m) * size.k4;
  //! end
  //! if !SUBGROUPS
  let b_row$j_0 = min((column + $j) * 4, last_m) * size.k4;
  let b_row$j_1 = min((column + $j) * 4 + 1, last_m) * size.k4;
  let b_row$j_2 = min((column + $j) * 4 + 2, last_m) * size.k4;
  let b_row$j_3 = min((column + $j) * 4 + 3, last_m) * size.k4;
  //! end
  //! end
  for (var k = 0u; k < size.k4; k++) {
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
    let at = (row + $i) * size.m4 + column;
    //! repeat j COLS4
    if (column + $j < size.m4)
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
