import type { Reals } from './arrays.ts';

/** Sizes of the three products; every one multiplies an [N, K] face with an [M, K] face of a weight. */
export interface ProductSize {
  n: number;
  m: number;
  k: number;
}

/** C[N, M] = A[N, K] · B[M, K]ᵀ (the layer: y = x · Wᵀ); added to C with `accumulate`. */
export function matmulNt(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(a, k, 1, b, k, 1, c, n, m, k, accumulate);
}

/** C[N, K] = A[N, M] · B[M, K] (the gradient of the layer's input: dx = dy · W); added to C with `accumulate`. */
export function matmulNn(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(a, m, 1, b, 1, k, c, n, k, m, accumulate);
}

/** C[M, K] = A[N, M]ᵀ · B[N, K] (the gradient of the weight: dW = dyᵀ · x); added to C with `accumulate`. */
export function matmulTn(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(a, 1, m, b, 1, k, c, m, k, n, accumulate);
}

/** Terms summed before a tile of C is stored, so that the strips of A and B that a tile reads stay in cache. */
const DEPTH = 128;

/**
 * C[i, j] (+)= Σ_r A[i·ai + r·ar] · B[j·bj + r·br] for i < rows, j < columns, r < depth; C dense, row-major.
 * Tiles of 4×4 keep sixteen sums in registers, so each number loaded serves four products.
 */
function product(
  a: Reals,
  ai: number,
  ar: number,
  b: Reals,
  bj: number,
  br: number,
  c: Float64Array,
  rows: number,
  columns: number,
  depth: number,
  accumulate: boolean,
): void {
  if (!accumulate) c.fill(0, 0, rows * columns);
  const fullRows = rows - (rows % 4);
  const fullColumns = columns - (columns % 4);
  for (let from = 0; from < depth; from += DEPTH) {
    const to = Math.min(depth, from + DEPTH);
    for (let i = 0; i < fullRows; i += 4) {
      for (let j = 0; j < fullColumns; j += 4)
        tile(
          a,
          i * ai + from * ar,
          ai,
          ar,
          b,
          j * bj + from * br,
          bj,
          br,
          c,
          i * columns + j,
          columns,
          to - from,
        );
      edge(a, ai, ar, b, bj, br, c, i, i + 4, fullColumns, columns, columns, from, to);
    }
    edge(a, ai, ar, b, bj, br, c, fullRows, rows, 0, columns, columns, from, to);
  }
}

/** One 4×4 tile of `product`: C at `at`, `at + stride`, … gains the sums of `depth` terms. */
function tile(
  a: Reals,
  a0: number,
  ai: number,
  ar: number,
  b: Reals,
  b0: number,
  bj: number,
  br: number,
  c: Float64Array,
  at: number,
  stride: number,
  depth: number,
): void {
  let s00 = 0,
    s01 = 0,
    s02 = 0,
    s03 = 0;
  let s10 = 0,
    s11 = 0,
    s12 = 0,
    s13 = 0;
  let s20 = 0,
    s21 = 0,
    s22 = 0,
    s23 = 0;
  let s30 = 0,
    s31 = 0,
    s32 = 0,
    s33 = 0;
  let a1 = a0 + ai,
    a2 = a1 + ai,
    a3 = a2 + ai;
  let b1 = b0 + bj,
    b2 = b1 + bj,
    b3 = b2 + bj;
  for (let r = 0; r < depth; r++) {
    const x0 = a[a0]!,
      x1 = a[a1]!,
      x2 = a[a2]!,
      x3 = a[a3]!;
    const y0 = b[b0]!,
      y1 = b[b1]!,
      y2 = b[b2]!,
      y3 = b[b3]!;
    s00 += x0 * y0;
    s01 += x0 * y1;
    s02 += x0 * y2;
    s03 += x0 * y3;
    s10 += x1 * y0;
    s11 += x1 * y1;
    s12 += x1 * y2;
    s13 += x1 * y3;
    s20 += x2 * y0;
    s21 += x2 * y1;
    s22 += x2 * y2;
    s23 += x2 * y3;
    s30 += x3 * y0;
    s31 += x3 * y1;
    s32 += x3 * y2;
    s33 += x3 * y3;
    a0 += ar;
    a1 += ar;
    a2 += ar;
    a3 += ar;
    b0 += br;
    b1 += br;
    b2 += br;
    b3 += br;
  }
  const c1 = at + stride,
    c2 = c1 + stride,
    c3 = c2 + stride;
  c[at] = c[at]! + s00;
  c[at + 1] = c[at + 1]! + s01;
  c[at + 2] = c[at + 2]! + s02;
  c[at + 3] = c[at + 3]! + s03;
  c[c1] = c[c1]! + s10;
  c[c1 + 1] = c[c1 + 1]! + s11;
  c[c1 + 2] = c[c1 + 2]! + s12;
  c[c1 + 3] = c[c1 + 3]! + s13;
  c[c2] = c[c2]! + s20;
  c[c2 + 1] = c[c2 + 1]! + s21;
  c[c2 + 2] = c[c2 + 2]! + s22;
  c[c2 + 3] = c[c2 + 3]! + s23;
  c[c3] = c[c3]! + s30;
  c[c3 + 1] = c[c3 + 1]! + s31;
  c[c3 + 2] = c[c3 + 2]! + s32;
  c[c3 + 3] = c[c3 + 3]! + s33;
}

/** The rows and columns of `product` that fill no tile, one sum at a time. */
function edge(
  a: Reals,
  ai: number,
  ar: number,
  b: Reals,
  bj: number,
  br: number,
  c: Float64Array,
  row0: number,
  row1: number,
  column0: number,
  column1: number,
  stride: number,
  from: number,
  to: number,
): void {
  for (let i = row0; i < row1; i++)
    for (let j = column0; j < column1; j++) {
      let sum = 0;
      for (let r = from; r < to; r++) sum += a[i * ai + r * ar]! * b[j * bj + r * br]!;
      c[i * stride + j] = c[i * stride + j]! + sum;
    }
}
