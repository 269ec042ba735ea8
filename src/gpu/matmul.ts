import nnSource from '../../shaders/matmul_nn.wgsl?raw';
import ntSource from '../../shaders/matmul_nt.wgsl?raw';
import sharedSource from '../../shaders/matmul_shared.wgsl?raw';
import tnSource from '../../shaders/matmul_tn.wgsl?raw';
import type { Sizes, Threads } from './plan.ts';
import type { DeviceReport } from './report.ts';
import { type Constants, wgsl } from './wgsl.ts';

/** A kernel's text and thread count, still without its buffers. */
export interface Kernel {
  label: string;
  code: string;
  threads: Threads;
  /** Words of a constant uniform, bound after the kernel's other bindings. */
  constants?: readonly number[];
}

/** The part of a product that one thread makes in registers, or one workgroup through its shared memory. */
export interface Tiling {
  rows: number;
  /** Columns in vec4s at most. */
  columns4: number;
  /** Invocations in a workgroup. */
  workgroup: number;
  /** Lanes of a subgroup, four, share the loads of B. Only where every subgroup has exactly 4 lanes. */
  subgroups: boolean;
  /** The tile is a workgroup's. */
  shared?: boolean;
}

/** What of a device decides how products are made. */
export type ProductDevice = Pick<DeviceReport, 'software' | 'quads'>;

/** Which product: `nt`, `nn` or `tn`, the most rows that it will run over, M and K. */
export interface Product {
  kind: 'nt' | 'nn' | 'tn';
  rows: number;
  m: number;
  k: number;
}

/** The tile of a workgroup; its sizes stand in the kernel. */
const SHARED: Tiling = { rows: 64, columns4: 16, workgroup: 128, subgroups: false, shared: true };

/**
 * The tile for a product on a device: a function of both and of nothing else, so that one configuration gives one result.
 *
 * On SwiftShader a load costs as much as ten products and a loop-carried sum as two, so wide tiles pay there: 0.9 GFLOP/s
 * for one vec4 a thread, 2.1 for 4 × 1, 3.4 for 8 × 4, a quarter more where lanes share loads ([2048, 64]·[256, 64]ᵀ on
 * two cores). 8 × 8 gains another tenth but takes twice as long to compile. One text for all epilogues, told apart by a
 * uniform, takes longer to compile than the texts of all: branches in an unrolled tile cost more than the tile. Where
 * fewer rows are decoded than a tile has, a lower tile leaves none of its rows idle: [4, 128]·[256, 128]ᵀ in 0.24 ms at
 * 1 row a thread, in 0.65 at 8.
 *
 * For a GPU the choice rests on reasoning, not on measurement (none was at hand): a thread of 4 rows × 2 vec4s loads 12
 * vec4s for 32 vec4s' products, all from the device's memory; with a workgroup's tile it is 1 from there and 12 from the
 * workgroup's own, so large products take that. It wants both sides of C as long as the tile, and terms for several
 * rounds. Few rows take small tiles, which leaves more threads.
 */
export function tilingFor(report: ProductDevice, product?: Product): Tiling {
  const rows = product && product.kind !== 'tn' ? product.rows : Infinity;
  if (report.software) {
    const height = lowest([1, 2, 4, 8], report.quads ? rows / 4 : rows);
    return { rows: height, columns4: 4, workgroup: 16, subgroups: report.quads };
  }
  if (product && isLarge(product)) return SHARED;
  const height = lowest([1, 2, 4], rows / 4);
  return { rows: height, columns4: height === 4 ? 2 : 1, workgroup: 64, subgroups: false };
}

/** The first of the heights that is at least `wanted`, or the last. */
const lowest = (heights: readonly number[], wanted: number): number =>
  heights.find((height) => height >= wanted) ?? heights.at(-1)!;

/** Sides of C and count of terms. */
function isLarge({ kind, rows, m, k }: Product): boolean {
  const [down, across, terms] = { nt: [rows, m, k], nn: [rows, k, m], tn: [m, k, rows] }[kind] as number[];
  return down! >= SHARED.rows && across! >= 4 * SHARED.columns4 && terms! >= 64;
}

/** Products with the tiles that suit a device. `most`: rows that they will run over at most, as far as that is known. */
export interface Products {
  nt(size: { m: number; k: number }, epilogue: NtEpilogue, rows: string, most?: number): Kernel;
  nn(size: { m: number; k: number }, epilogue: NnEpilogue, rows: string, most?: number): Kernel;
  tn(size: { m: number; k: number }, slicing: Slicing): Kernel;
}

/** Products for training, whose rows are many, and for decoding, whose rows are as few as the rollouts. */
export function productsFor(report: ProductDevice): Products {
  const tile = (kind: Product['kind'], size: { m: number; k: number }, rows = Infinity) =>
    tilingFor(report, { kind, rows, ...size });
  return {
    nt: (size, epilogue, rows, most) => matmulNt(size, tile('nt', size, most), epilogue, rows),
    nn: (size, epilogue, rows, most) => matmulNn(size, tile('nn', size, most), epilogue, rows),
    tn: (size, slicing) => matmulTn(size, tile('tn', size), slicing),
  };
}

/** Sizes as the kernels read them: m, k / 4, m / 4 rounded up, tiles of columns, tiles of rows, stride / 4. */
type SizeWords = [m: number, k4: number, m4: number, tiles: number, rowTiles: number, stride4: number];

const NO_EPILOGUE = { RESIDUAL: false, GELU: false, PLAIN: false, ACCUMULATE: false, GELU_BACKWARD: false };

/** The kernel of a workgroup's tile in the place of one of a thread's. */
function shared(
  kind: Product['kind'],
  constants: Constants,
  sizes: SizeWords,
  workgroups: (sizes: Sizes) => number,
): Kernel {
  const modes = { NT: kind === 'nt', NN: kind === 'nn', TN: kind === 'tn', SLICES: 1 };
  const code = wgsl(sharedSource, { ...modes, ...NO_EPILOGUE, ...constants });
  return { label: 'matmul_shared', code, constants: sizes, threads: (s) => workgroups(s) * SHARED.workgroup };
}

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
  const constants: SizeWords = [size.m, size.k / 4, m4, tiles, 0, 0];
  const options = {
    SIZE_SLOT: epilogue === 'plain' ? 4 : 5,
    RESIDUAL: epilogue === 'residual',
    GELU: epilogue === 'gelu',
  };
  if (tiling.shared) {
    const all = { ...options, PLAIN: epilogue !== 'residual' };
    return shared('nt', all, constants, (s) => rowTiles(s[rows]!, tiling) * tiles);
  }
  const code = wgsl(ntSource, { ...tileConstants(tiling), ...options });
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
  const constants: SizeWords = [size.m, k4, Math.ceil(size.m / 4), tiles, 0, 0];
  const options = {
    SIZE_SLOT: epilogue === 'geluBackward' ? 5 : 4,
    PLAIN: epilogue === 'plain',
    ACCUMULATE: epilogue === 'accumulate',
    GELU_BACKWARD: epilogue === 'geluBackward',
  };
  if (tiling.shared) return shared('nn', options, constants, (s) => rowTiles(s[rows]!, tiling) * tiles);
  const code = wgsl(nnSource, { ...tileConstants(tiling), ...options });
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
  const constants: SizeWords = [size.m, k4, m4, tiles, tileRows, slicing.stride / 4];
  const options = { SIZE_SLOT: 4, SLICES: slicing.slices };
  if (tiling.shared)
    return shared('tn', { ...options, PLAIN: true }, constants, () => slicing.slices * tileRows * tiles);
  const code = wgsl(tnSource, { ...tileConstants(tiling), ...options, ROWS4: rows4 });
  return { label: 'matmul_tn', code, constants, threads: () => slicing.slices * tileRows * tiles };
}

function tileConstants({ rows, columns4, workgroup, subgroups }: Tiling): Constants {
  return { ROWS: rows, COLS4: columns4, WORKGROUP: workgroup, SUBGROUPS: subgroups };
}
