// matmul_tn: C[M, K] = A[N, M]ᵀ · B[N, K] (the gradient of a weight: dW = dyᵀ · x), first stage: slice s sums rows
// s·chunk … (s + 1)·chunk − 1; grad_norm adds the slices in order, so that the sum has the same bits every time.
// K is a multiple of 4; rows of A have 4·M4 ≥ M columns. → c [SLICES, stride 4·STRIDE4], each slice [M, K].
// A thread makes a tile of 4·ROWS4 rows × COLS4 vec4 columns of one slice in registers.
// Sizes come as a uniform, so that one compilation serves every layer.
// With SUBGROUPS (where a subgroup is 4 lanes, as in SwiftShader, and a load costs as much as ten products), each lane
// loads a quarter of B's tile and the others have it by broadcast.
// ROW_TILES is then a multiple of 4.
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

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  //! if SUBGROUPS
  @builtin(subgroup_invocation_id) lane: u32,
  //! end
) {
  let t = id.y * groups.x * WORKGROUP + id.x;
  // Neighbouring threads hold the same columns of neighbouring tiles of rows.
  let slice = t / (size.row_tiles * size.tiles);
  if (slice >= SLICES) { return; }
  let row = t % size.row_tiles * ROWS4;
  let column = t / size.row_tiles % size.tiles * COLS4;
  //! repeat i ROWS4
  let a_column$i = min(row + $i, size.m4 - 1);
  //! end
  //! repeat j COLS4
  let b_column$j = min(column + $j, size.k4 - 1);
  //! repeat i ROWS4
  //! repeat q 4
  var c$i_$q_$j = vec4f();
  //! end
  //! end
  //! end
  let end = min(dims.n, (slice + 1) * dims.chunk);
  var n = slice * dims.chunk;
  for (; n + 4 <= end; n += 4) {
    //! if SUBGROUPS
    //! repeat j COLS4
    let shared_b$j = b[(n + lane) * size.k4 + b_column$j];
    //! end
    //! end
    //! repeat u 4
    {
      //! repeat i ROWS4
      let a$i = a[(n + $u) * size.m4 + a_column$i];
      //! end
      //! repeat j COLS4
      //! if SUBGROUPS
      let b$j = subgroupBroadcast(shared_b$j, $u);
      //! end
      //! if !SUBGROUPS
      let b$j = b[(n + $u) * size.k4 + b_column$j];
      //! end
      //! repeat i ROWS4
      //! repeat q 4
      c$i_$q_$j += a$i[$q] * b$j;
      //! end
      //! end
      //! end
    }
    //! end
  }
  for (; n < end; n++) {
    //! repeat i ROWS4
    let a$i = a[n * size.m4 + a_column$i];
    //! end
    //! repeat j COLS4
    let b$j = b[n * size.k4 + b_column$j];
    //! repeat i ROWS4
    //! repeat q 4
    c$i_$q_$j += a$i[$q] * b$j;
    //! end
    //! end
    //! end
  }
  let at = slice * size.stride4 + row * 4 * size.k4 + column;
  //! repeat i ROWS4
  //! repeat q 4
  if ((row + $i) * 4 + $q < size.m) {
    //! repeat j COLS4
    if (column + $j < size.k4)
    {
      c[at + ($i * 4 + $q) * size.k4 + $j] = c$i_$q_$j;
    }
    //! end
  }
  //! end
  //! end
}
