// matmul_shared: the products of matmul_nt, matmul_nn and matmul_tn, with the same bindings, sizes and epilogues, on tiles
// of 64 × 64 that a workgroup takes through its shared memory, 16 terms at a time:
// NT: C[N, M] = A[N, K] · B[M, K]ᵀ; NN: C[N, K] = A[N, M] · B[M, K]; TN: C[s][M, K] = A[N, M]ᵀ · B[N, K] over the rows of slice s.
// 128 threads. In turn each copies a block of 4 × 4 of A or of B, terms first (turned where they lie along a row of
// memory), and adds the 16 terms to its own 8 rows × 1 vec4: 3 vec4 loads for 8 vec4 products. 8 KiB of shared memory.
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
//! if GELU_BACKWARD
@group(0) @binding(4) var<storage, read> before: array<vec4f>;

fn gelu_slope(x: vec4f) -> vec4f {
  let s = 1.0 / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
  return s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * x * x);
}
//! end

// [16 terms, 64 / 4] each: rows of C, and columns of C.
var<workgroup> tile_a: array<vec4f, 256>;
var<workgroup> tile_b: array<vec4f, 256>;

@compute @workgroup_size(128)
fn main(
  @builtin(local_invocation_index) t: u32,
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
) {
  let tile = group.y * groups.x + group.x;
  let column = tile % size.tiles * 16;
  //! if TN
  let slice = tile / (size.row_tiles * size.tiles);
  if (slice >= SLICES) { return; }
  let row = tile / size.tiles % size.row_tiles * 64;
  let begin = slice * dims.chunk;
  let end = min(dims.n, begin + dims.chunk);
  //! end
  //! if !TN
  let row = tile / size.tiles * 64;
  if (row >= dims.n) { return; }
  let begin = 0u;
  let last = dims.n - 1;
  //! end
  //! if NT
  let terms4 = size.k4;
  let end = terms4 * 4;
  let last_m = size.m - 1;
  //! end
  //! if NN
  let terms4 = size.m4;
  let end = size.m;
  //! end
  // The block of this thread: a vec4 along the tile and four terms, or the other way round before it is turned.
  let own = t % 64;
  let across = own % 16;
  let along = own / 16;
  let turned = own / 4;
  let term4 = own % 4;
  let ty = t / 16;
  let tx = t % 16;
  //! repeat i 8
  var c$i = vec4f();
  //! end
  for (var d = begin; d < end; d += 16) {
    //! repeat q 4
    var v$q = vec4f();
    //! end
    if (t < 64) {
      //! if !TN
      let at = d / 4 + term4;
      if (at < terms4) {
        //! repeat q 4
        v$q = a[min(row + turned * 4 + $q, last) * terms4 + at];
        //! end
      }
      //! end
      //! if TN
      let at = min(row / 4 + across, size.m4 - 1);
      //! repeat q 4
      if (d + along * 4 + $q < end) { v$q = a[(d + along * 4 + $q) * size.m4 + at]; }
      //! end
      //! end
    } else {
      //! if NT
      let at = d / 4 + term4;
      if (at < terms4) {
        //! repeat q 4
        v$q = b[min((column + turned) * 4 + $q, last_m) * terms4 + at];
        //! end
      }
      //! end
      //! if !NT
      let at = min(column + across, size.k4 - 1);
      //! repeat q 4
      if (d + along * 4 + $q < end) { v$q = b[(d + along * 4 + $q) * size.k4 + at]; }
      //! end
      //! end
    }
    // Everybody is done with the tiles of before.
    workgroupBarrier();
    if (t < 64) {
      //! if !TN
      let place = term4 * 64 + turned;
      tile_a[place] = vec4f(v0.x, v1.x, v2.x, v3.x);
      tile_a[place + 16] = vec4f(v0.y, v1.y, v2.y, v3.y);
      tile_a[place + 32] = vec4f(v0.z, v1.z, v2.z, v3.z);
      tile_a[place + 48] = vec4f(v0.w, v1.w, v2.w, v3.w);
      //! end
      //! if TN
      //! repeat q 4
      tile_a[(along * 4 + $q) * 16 + across] = v$q;
      //! end
      //! end
    } else {
      //! if NT
      let place = term4 * 64 + turned;
      tile_b[place] = vec4f(v0.x, v1.x, v2.x, v3.x);
      tile_b[place + 16] = vec4f(v0.y, v1.y, v2.y, v3.y);
      tile_b[place + 32] = vec4f(v0.z, v1.z, v2.z, v3.z);
      tile_b[place + 48] = vec4f(v0.w, v1.w, v2.w, v3.w);
      //! end
      //! if !NT
      //! repeat q 4
      tile_b[(along * 4 + $q) * 16 + across] = v$q;
      //! end
      //! end
    }
    workgroupBarrier();
    //! repeat r 16
    {
      let a0 = tile_a[$r * 16 + ty * 2];
      let a1 = tile_a[$r * 16 + ty * 2 + 1];
      let b0 = tile_b[$r * 16 + tx];
      //! repeat q 4
      c$q += a0[$q] * b0;
      //! end
      c4 += a1.x * b0;
      c5 += a1.y * b0;
      c6 += a1.z * b0;
      c7 += a1.w * b0;
    }
    //! end
  }
  //! if NT
  let width4 = size.m4;
  //! end
  //! if !NT
  let width4 = size.k4;
  //! end
  if (column + tx >= width4) { return; }
  //! if TN
  let rows = size.m;
  let base = slice * size.stride4 + column + tx;
  //! end
  //! if !TN
  let rows = dims.n;
  let base = column + tx;
  //! end
  //! repeat i 8
  if (row + ty * 8 + $i < rows) {
    let at = base + (row + ty * 8 + $i) * width4;
    //! if RESIDUAL
    c[at] = residual[at] + c$i;
    //! end
    //! if ACCUMULATE
    c[at] += c$i;
    //! end
    //! if GELU_BACKWARD
    c[at] = c$i * gelu_slope(before[at]);
    //! end
    //! if PLAIN
    c[at] = c$i;
    //! end
    //! if GELU
    activated[at] = gelu(c$i);
    //! end
  }
  //! end
}
