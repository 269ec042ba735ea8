/** Terms and columns taken at a time: a strip of B (8 columns × DEPTH) stays in L1, all strips of COLUMNS in L2. */
const DEPTH: i32 = 256;
const COLUMNS: i32 = 512;
/** Bytes of scratch that `product` needs: strips of B, one strip of A, and a tile that hangs over the edge of C. */
export const PRODUCT_SCRATCH: usize = (<usize>DEPTH * (COLUMNS + 4) + 32) * 4;

let stripsB: usize = 0;
let stripA: usize = 0;
let overhang: usize = 0;

/** Gives `product` its scratch, PRODUCT_SCRATCH bytes at a multiple of 16. */
export function setProductScratch(at: usize): void {
  overhang = at;
  stripA = at + 128;
  stripsB = stripA + <usize>DEPTH * 16;
}

/**
 * C[i, j] = Σ_r A(i, r)·B(j, r), added to `addend`[i, j] where `addend` ≠ 0; i < rows, j < columns, r < depth.
 * A(i, r) lies at a + 4·(i·strideA + r), or at a + 4·(r·strideA + i) with `acrossA`; B likewise. C and addend are
 * row-major with `strideC` floats a row and may be the same; C overlaps neither A nor B.
 * Both factors are copied into strips (4 rows of A, 8 of B, term by term), so that the inner loop reads memory in order
 * and keeps a tile of 4×8 sums in registers. Terms are added in order of r in blocks of 256: every entry of C has one
 * order of additions, wherever it lies in the matrix.
 * Source of the scheme: Goto & van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication".
 */
export function product(
  a: usize,
  strideA: i32,
  acrossA: bool,
  b: usize,
  strideB: i32,
  acrossB: bool,
  c: usize,
  strideC: i32,
  addend: usize,
  rows: i32,
  columns: i32,
  depth: i32,
): void {
  for (let r0: i32 = 0; r0 < depth; r0 += DEPTH) {
    const terms = min(DEPTH, depth - r0);
    const onto = r0 === 0 ? addend : c;
    for (let j0: i32 = 0; j0 < columns; j0 += COLUMNS) {
      const width = min(COLUMNS, columns - j0);
      packStrips(entry(b, strideB, acrossB, j0, r0), strideB, acrossB, width, terms);
      for (let i: i32 = 0; i < rows; i += 4) {
        const height = min(4, rows - i);
        pack(entry(a, strideA, acrossA, i, r0), strideA, acrossA, height, terms, stripA, 16);
        const corner = (<usize>i * strideC + j0) * 4;
        tilesOfRow(c + corner, onto === 0 ? 0 : onto + corner, strideC, height, width, terms);
      }
    }
  }
}

function entry(matrix: usize, stride: i32, across: bool, i: i32, r: i32): usize {
  return matrix + 4 * (across ? <usize>r * stride + i : <usize>i * stride + r);
}

/** Copies `width` rows of B into strips of 8, the last one filled up with zeros. */
function packStrips(b: usize, stride: i32, across: bool, width: i32, terms: i32): void {
  const half: usize = 4 * (across ? 1 : <usize>stride);
  for (let j: i32 = 0; j < width; j += 8) {
    const to = stripsB + <usize>j * terms * 4;
    const from = b + <usize>j * half;
    pack(from, stride, across, min(4, width - j), terms, to, 32);
    pack(from + 4 * half, stride, across, max(0, min(4, width - j - 4)), terms, to + 16, 32);
  }
}

/** Copies `count` ≤ 4 rows side by side: term r at to + r·step, missing rows 0. */
function pack(from: usize, stride: i32, across: bool, count: i32, terms: i32, to: usize, step: usize): void {
  if (count < 4) packPart(from, stride, across, count, terms, to, step);
  else if (across) packAcross(from, <usize>stride * 4, terms, to, step);
  else packRows(from, <usize>stride * 4, terms, to, step);
}

function packAcross(from: usize, stride: usize, terms: i32, to: usize, step: usize): void {
  for (let r: i32 = 0; r < terms; r++) {
    v128.store(to, v128.load(from));
    from += stride;
    to += step;
  }
}

function packRows(from: usize, stride: usize, terms: i32, to: usize, step: usize): void {
  let row0 = from;
  let row1 = row0 + stride;
  let row2 = row1 + stride;
  let row3 = row2 + stride;
  let r: i32 = 0;
  for (; r + 4 <= terms; r += 4) {
    const x0 = v128.load(row0);
    const x1 = v128.load(row1);
    const x2 = v128.load(row2);
    const x3 = v128.load(row3);
    const low01 = v128.shuffle<f32>(x0, x1, 0, 4, 1, 5);
    const high01 = v128.shuffle<f32>(x0, x1, 2, 6, 3, 7);
    const low23 = v128.shuffle<f32>(x2, x3, 0, 4, 1, 5);
    const high23 = v128.shuffle<f32>(x2, x3, 2, 6, 3, 7);
    v128.store(to, v128.shuffle<f64>(low01, low23, 0, 2));
    to += step;
    v128.store(to, v128.shuffle<f64>(low01, low23, 1, 3));
    to += step;
    v128.store(to, v128.shuffle<f64>(high01, high23, 0, 2));
    to += step;
    v128.store(to, v128.shuffle<f64>(high01, high23, 1, 3));
    to += step;
    row0 += 16;
    row1 += 16;
    row2 += 16;
    row3 += 16;
  }
  for (; r < terms; r++) {
    store<f32>(to, load<f32>(row0));
    store<f32>(to, load<f32>(row1), 4);
    store<f32>(to, load<f32>(row2), 8);
    store<f32>(to, load<f32>(row3), 12);
    to += step;
    row0 += 4;
    row1 += 4;
    row2 += 4;
    row3 += 4;
  }
}

function packPart(
  from: usize,
  stride: i32,
  across: bool,
  count: i32,
  terms: i32,
  to: usize,
  step: usize,
): void {
  for (let r: i32 = 0; r < terms; r++) {
    for (let i: i32 = 0; i < 4; i++)
      store<f32>(to + <usize>i * 4, i < count ? load<f32>(entry(from, stride, across, i, r)) : 0);
    to += step;
  }
}

/** The tiles of one strip of A; those that hang over the edge of C go through `overhang`. */
function tilesOfRow(c: usize, onto: usize, strideC: i32, height: i32, width: i32, terms: i32): void {
  const row = <usize>strideC * 4;
  for (let j: i32 = 0; j < width; j += 8) {
    const strip = stripsB + <usize>j * terms * 4;
    const at = <usize>j * 4;
    if (height === 4 && width - j >= 8) {
      tile(strip, terms, c + at, onto === 0 ? 0 : onto + at, row);
      continue;
    }
    tile(strip, terms, overhang, 0, 32);
    const valid = min(8, width - j);
    for (let i: i32 = 0; i < height; i++)
      for (let l: i32 = 0; l < valid; l++) {
        const to = <usize>i * row + at + <usize>l * 4;
        const sum = load<f32>(overhang + <usize>(i * 32 + l * 4));
        store<f32>(c + to, onto === 0 ? sum : load<f32>(onto + to) + sum);
      }
  }
}

/**
 * The 4×8 sums of `stripA` and a strip of B, stored at c (rows `row` bytes apart), added to `onto` where it is ≠ 0.
 * One term a turn: with two, V8 moves all loads to the front and spills half of the sums (29 GFLOP/s against 39, V8 of
 * Node 20, one core of an AMD EPYC).
 */
function tile(b: usize, terms: i32, c: usize, onto: usize, row: usize): void {
  let a = stripA;
  const zero = f32x4.splat(0);
  let s00 = zero;
  let s01 = zero;
  let s10 = zero;
  let s11 = zero;
  let s20 = zero;
  let s21 = zero;
  let s30 = zero;
  let s31 = zero;
  const end = a + <usize>terms * 16;
  while (a < end) {
    const b0 = v128.load(b);
    const b1 = v128.load(b, 16);
    let x = v128.load32_splat(a);
    s00 = f32x4.add(s00, f32x4.mul(x, b0));
    s01 = f32x4.add(s01, f32x4.mul(x, b1));
    x = v128.load32_splat(a, 4);
    s10 = f32x4.add(s10, f32x4.mul(x, b0));
    s11 = f32x4.add(s11, f32x4.mul(x, b1));
    x = v128.load32_splat(a, 8);
    s20 = f32x4.add(s20, f32x4.mul(x, b0));
    s21 = f32x4.add(s21, f32x4.mul(x, b1));
    x = v128.load32_splat(a, 12);
    s30 = f32x4.add(s30, f32x4.mul(x, b0));
    s31 = f32x4.add(s31, f32x4.mul(x, b1));
    a += 16;
    b += 32;
  }
  put(c, onto, s00, s01);
  onto = onto === 0 ? 0 : onto + row;
  put(c + row, onto, s10, s11);
  onto = onto === 0 ? 0 : onto + row;
  put(c + 2 * row, onto, s20, s21);
  onto = onto === 0 ? 0 : onto + row;
  put(c + 3 * row, onto, s30, s31);
}

function put(c: usize, onto: usize, s0: v128, s1: v128): void {
  if (onto !== 0) {
    s0 = f32x4.add(v128.load(onto), s0);
    s1 = f32x4.add(v128.load(onto, 16), s1);
  }
  v128.store(c, s0);
  v128.store(c, s1, 16);
}
