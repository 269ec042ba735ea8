// matmul_nn: C[N, K] = A[N, M] · B[M, K] (the gradient of a layer's input: dx = dy · W). Options: ACCUMULATE adds to C;
// GELU_BACKWARD multiplies by gelu'(u) of the pre-activation u [N, K], with s = σ(2√(2/π)·(u + 0.044715·u³)):
// gelu' = s + u·s·(1 − s)·2√(2/π)·(1 + 3·0.044715·u²).
// K is a multiple of 4; rows of A have 4·M4 ≥ M columns, those from M on are 0. A thread makes a tile of ROWS rows ×
// COLS4 vec4 columns in registers; no barrier and no shared memory.
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
//! if GELU_BACKWARD
@group(0) @binding(4) var<storage, read> before: array<vec4f>;

fn gelu_slope(x: vec4f) -> vec4f {
  let s = 1.0 / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
  return s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * x * x);
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
  let a_row$i = min(row + $i, last) * size.m4;
  //! repeat j COLS4
  var c$i_$j = vec4f();
  //! end
  //! end
  //! repeat j COLS4
  let b_column$j = min(column + $j, size.k4 - 1);
  //! end
  for (var m = 0u; m < size.m4; m++) {
    //! repeat i ROWS
    let a$i = a[a_row$i + m];
    //! end
    //! if SUBGROUPS
    let shared_row = min(m * 4 + lane, last_m) * size.k4;
    //! repeat j COLS4
    let shared_b$j = b[shared_row + b_column$j];
    //! end
    //! end
    //! repeat q 4
    {
      //! if !SUBGROUPS
      let b_row = min(m * 4 + $q, last_m) * size.k4;
      //! end
      //! repeat j COLS4
      //! if SUBGROUPS
      let b$j = subgroupBroadcast(shared_b$j, $q);
      //! end
      //! if !SUBGROUPS
      let b$j = b[b_row + b_column$j];
      //! end
      //! repeat i ROWS
      c$i_$j += a$i[$q] * b$j;
      //! end
      //! end
    }
    //! end
  }
  //! repeat i ROWS
  if (row + $i < dims.n) {
    let at = (row + $i) * size.k4 + column;
    //! repeat j COLS4
    if (column + $j < size.k4)
    {
      //! if ACCUMULATE
      c[at + $j] += c$i_$j;
      //! end
      //! if GELU_BACKWARD
      c[at + $j] = c$i_$j * gelu_slope(before[at + $j]);
      //! end
      //! if PLAIN
      c[at + $j] = c$i_$j;
      //! end
    }
    //! end
  }
  //! end
}
