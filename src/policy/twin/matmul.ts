import type { Reals } from './arrays.ts';
import { type Matrix, product } from './product.ts';

/** Sizes of the three products; every one multiplies an [N, ·] face with an [M, K] weight or makes one. */
export interface ProductSize {
  n: number;
  m: number;
  k: number;
}

/** C[N, M] = A[N, K] · B[M, K]ᵀ (the layer: y = x · Wᵀ); added to C with `accumulate`. */
export function matmulNt(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(dense(a, k), dense(b, k), target(c, m), { rows: n, columns: m, depth: k }, accumulate);
}

/** C[N, K] = A[N, M] · B[M, K] (the gradient of the layer's input: dx = dy · W); added to C with `accumulate`. */
export function matmulNn(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(dense(a, m), transposed(b, k), target(c, k), { rows: n, columns: k, depth: m }, accumulate);
}

/** C[M, K] = A[N, M]ᵀ · B[N, K] (the gradient of the weight: dW = dyᵀ · x); added to C with `accumulate`. */
export function matmulTn(a: Reals, b: Reals, c: Float64Array, size: ProductSize, accumulate = false): void {
  const { n, m, k } = size;
  product(transposed(a, m), transposed(b, k), target(c, k), { rows: m, columns: k, depth: n }, accumulate);
}

const dense = (data: Reals, columns: number): Matrix => ({ data, offset: 0, row: columns, column: 1 });
const transposed = (data: Reals, columns: number): Matrix => ({ data, offset: 0, row: 1, column: columns });
const target = (data: Float64Array, columns: number) => ({ data, offset: 0, row: columns });
