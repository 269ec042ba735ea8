import nnSource from '../../shaders/matmul_nn.wgsl?raw';
import ntSource from '../../shaders/matmul_nt.wgsl?raw';
import tnSource from '../../shaders/matmul_tn.wgsl?raw';
import type { Threads } from './plan.ts';
import { type Constants, wgsl } from './wgsl.ts';

/** A kernel's text and thread count, still without its buffers. */
export interface Kernel {
  label: string;
  code: string;
  threads: Threads;
  /** Words of a constant uniform, bound after the kernel's other bindings. */
  constants?: readonly number[];
}

/** Register tile of one thread: rows, and columns in vec4s at most; invocations in a workgroup. */
export interface Tiling {
  rows: number;
  columns4: number;
  workgroup: number;
  /** Lanes of a subgroup, four, share the loads of B. Only where every subgroup has exactly 4 lanes. */
  subgroups: boolean;
}

/**
 * The tile that suits a device. On SwiftShader a load costs as much as ten products and a loop-carried sum as two, so
 * wide tiles pay there: 0.9 GFLOP/s for one vec4 a thread, 2.1 for 4 × 1, 3.4 for 8 × 4, a quarter more where lanes
 * share loads ([2048, 64]·[256, 64]ᵀ on two cores). 8 × 8 gains another tenth but takes twice as long to compile. A GPU
 * wants fewer registers a thread and more threads.
 */
export function tilingFor(report: { software: boolean; quads: boolean }): Tiling {
  if (!report.software) return { rows: 4, columns4: 2, workgroup: 64, subgroups: false };
  return { rows: 8, columns4: 4, workgroup: 16, subgroups: report.quads };
}

/** Sizes as the kernels read them: m, k / 4, m / 4 rounded up, tiles of columns, tiles of rows, stride / 4. */
type SizeWords = [m: number, k4: number, m4: number, tiles: number, rowTiles: number, stride4: number];

/** Where lanes share loads, tiles come in fours. */
const inQuads = (tiles: number, { subgroups }: Tiling): number =>
  subgroups ? Math.ceil(tiles / 4) * 4 : tiles;

/** Tiles of rows that cover n rows. */
const rowTiles = (n: number, tiling: Tiling): number => inQuads(Math.ceil(n / tiling.rows), tiling);

/** What follows the product [N, M] of `matmulNt`. */
export type NtEpilogue = 'plain' | 'residual' | 'gelu';

/**
 * C[N, M] = A[N, K]·B[M, K]ᵀ. Bindings: dims, A, B, C, then the residual or gelu(C) as the epilogue asks. Rows of C
 * have M rounded up to a multiple of 4 columns. N is `sizes[rows]`.
 */
export function matmulNt(
  size: { m: number; k: number },
  tiling: Tiling,
  epilogue: NtEpilogue,
  rows: string,
): Kernel {
  const m4 = Math.ceil(size.m / 4);
  const tiles = Math.ceil(m4 / tiling.columns4);
  const code = wgsl(ntSource, {
    ...tileConstants(tiling),
    SIZE_SLOT: epilogue === 'plain' ? 4 : 5,
    RESIDUAL: epilogue === 'residual',
    GELU: epilogue === 'gelu',
  });
  const constants: SizeWords = [size.m, size.k / 4, m4, tiles, 0, 0];
  return { label: 'matmul_nt', code, constants, threads: (s) => rowTiles(s[rows]!, tiling) * tiles };
}

/** What follows the product [N, K] of `matmulNn`. */
export type NnEpilogue = 'plain' | 'accumulate' | 'geluBackward';

/**
 * C[N, K] = A[N, M]·B[M, K]. Bindings: dims, A, B, C, then the pre-activation where the epilogue is `geluBackward`.
 * Rows of A have M rounded up to a multiple of 4 columns, the excess 0. N is `sizes[rows]`.
 */
export function matmulNn(
  size: { m: number; k: number },
  tiling: Tiling,
  epilogue: NnEpilogue,
  rows: string,
): Kernel {
  const k4 = size.k / 4;
  const tiles = Math.ceil(k4 / tiling.columns4);
  const code = wgsl(nnSource, {
    ...tileConstants(tiling),
    SIZE_SLOT: epilogue === 'geluBackward' ? 5 : 4,
    PLAIN: epilogue === 'plain',
    ACCUMULATE: epilogue === 'accumulate',
    GELU_BACKWARD: epilogue === 'geluBackward',
  });
  const constants: SizeWords = [size.m, k4, Math.ceil(size.m / 4), tiles, 0, 0];
  return { label: 'matmul_nn', code, constants, threads: (s) => rowTiles(s[rows]!, tiling) * tiles };
}

/** How a gradient is split over rows: `slices` partial sums, one every `stride` elements. */
export interface Slicing {
  slices: number;
  stride: number;
}

/**
 * C[s] [M, K] = A[rows of slice s, M]ᵀ·B[the same rows, K]. Bindings: dims (n and chunk), A, B, C. Rows of A have M
 * rounded up to a multiple of 4 columns.
 */
export function matmulTn(size: { m: number; k: number }, tiling: Tiling, slicing: Slicing): Kernel {
  const m4 = Math.ceil(size.m / 4);
  const k4 = size.k / 4;
  const rows4 = Math.max(1, tiling.rows / 4);
  const tiles = Math.ceil(k4 / tiling.columns4);
  const tileRows = inQuads(Math.ceil(m4 / rows4), tiling);
  const code = wgsl(tnSource, {
    ...tileConstants(tiling),
    SIZE_SLOT: 4,
    ROWS4: rows4,
    SLICES: slicing.slices,
  });
  const constants: SizeWords = [size.m, k4, m4, tiles, tileRows, slicing.stride / 4];
  return { label: 'matmul_tn', code, constants, threads: () => slicing.slices * tileRows * tiles };
}

function tileConstants({ rows, columns4, workgroup, subgroups }: Tiling): Constants {
  return { ROWS: rows, COLS4: columns4, WORKGROUP: workgroup, SUBGROUPS: subgroups };
}
