import type { PackedBatch, PolicyShape } from '../../policy/engine.ts';
import { parameterCount } from '../../policy/layout.ts';
import type { Dispatch } from './tracer.ts';

/** Floating-point operations of a dispatch, and the bytes that it cannot do without: each array read and written once. */
export interface Work {
  flops: number;
  bytes: number;
}

/** What the work of a kernel depends on besides its own sizes. */
export interface WorkContext {
  shape: PolicyShape;
  /** Pairs of positions that see each other, in one layer. */
  pairs: number;
}

/** Pairs of positions of a batch that see each other. */
export function seenPairs(batch: PackedBatch): number {
  return batch.starts.reduce((sum, start, n) => sum + n - start + 1, 0);
}

/** Sizes of a dispatch: rows and their slices from its first uniform, those of a product from its last. */
interface Sizes extends WorkContext {
  /** Rows. */
  n: number;
  slices: number;
  /** Third word of the sizes: distinct tokens, where the kernel wants them. */
  distinct: number;
  /** Columns of a product, and the length of its sums. */
  m: number;
  k: number;
  /** Arrays that a product binds besides its two factors and its result. */
  extras: number;
  /** Elements that a binding holds, by its place. */
  held(place: number): number;
}

const product = ({ n, m, k }: Sizes) => 2 * n * m * k;

/** Elements of 4 bytes and operations, kernel by kernel. D width, H heads, F hidden units, V vocabulary, P parameters. */
const WORK: Record<string, (s: Sizes) => { flops: number; elements: number }> = {
  matmul_nt: (s) => ({
    flops: product(s),
    elements: s.n * s.k + s.m * s.k + (1 + s.extras) * s.n * s.m,
  }),
  matmul_nn: (s) => ({
    flops: product(s),
    elements: s.n * s.m + s.m * s.k + (1 + s.extras) * s.n * s.k,
  }),
  matmul_tn: (s) => ({
    flops: product(s),
    elements: s.n * s.m + s.n * s.k + s.slices * s.m * s.k,
  }),
  embed_gather: ({ n, shape }) => ({ flops: 0, elements: n * (2 * shape.width + 1) }),
  spread_rows: ({ n, shape }) => ({ flops: 0, elements: n * (2 * shape.width + 1) }),
  embed_scatter: ({ n, distinct, shape }) => ({
    flops: n * shape.width,
    elements: (n + 2 * distinct) * shape.width + n,
  }),
  rms_norm: ({ n, shape }) => ({ flops: 4 * n * shape.width, elements: n * (2 * shape.width + 1) }),
  rms_norm_backward: ({ n, shape }) => ({ flops: 9 * n * shape.width, elements: n * (4 * shape.width + 1) }),
  rms_norm_gain: ({ n, slices, shape }) => ({
    flops: 3 * n * shape.width,
    elements: n * (2 * shape.width + 1) + slices * shape.width,
  }),
  // q and k are turned; into a cache, k and v are written besides.
  rotary: ({ n, extras, shape }) => ({
    flops: 6 * n * shape.width,
    elements: n * shape.width * (extras > 0 ? 6 : 4),
  }),
  attention: ({ n, pairs, shape }) => ({
    flops: 4 * pairs * shape.width,
    elements: n * (4 * shape.width + shape.heads),
  }),
  attention_backward_q: ({ n, pairs, shape }) => ({
    flops: 6 * pairs * shape.width,
    elements: n * (6 * shape.width + 2 * shape.heads),
  }),
  attention_backward_kv: ({ n, pairs, shape }) => ({
    flops: 8 * pairs * shape.width,
    elements: n * (6 * shape.width + 2 * shape.heads),
  }),
  cached_attention: ({ n, pairs, shape }) => ({
    flops: 4 * pairs * shape.width,
    elements: (2 * n + 2 * pairs) * shape.width,
  }),
  cross_entropy: ({ n, shape }) => ({ flops: 4 * n * shape.vocab, elements: n * (shape.vocab + 6) }),
  cross_entropy_backward: ({ n, shape }) => ({
    flops: 4 * n * shape.vocab,
    elements: n * (2 * shape.vocab + 6),
  }),
  swiglu: ({ n, shape }) => ({ flops: 5 * n * shape.hidden, elements: 3 * n * shape.hidden }),
  swiglu_backward: ({ n, shape }) => ({ flops: 9 * n * shape.hidden, elements: 5 * n * shape.hidden }),
  grad_norm: ({ shape, held }) => {
    const count = parameterCount(shape);
    const slices = Math.max(1, Math.floor(held(0) / count));
    return { flops: (slices + 1) * count, elements: (slices + 1) * count };
  },
  step_summary: ({ n }) => ({ flops: 2 * n, elements: 2 * n }),
  adamw: ({ shape }) => ({ flops: 12 * parameterCount(shape), elements: 7 * parameterCount(shape) }),
  sample: ({ n, shape }) => ({ flops: 4 * n * shape.vocab, elements: n * (shape.vocab + 5) }),
  compact: ({ n }) => ({ flops: 0, elements: 7 * n }),
};

/** The work of a dispatch; `null` for a kernel that this table does not know. */
export function workOf({ kernel, bindings }: Dispatch, context: WorkContext): Work | null {
  const count = WORK[kernel];
  if (!count) return null;
  const uniforms = bindings.flatMap(({ words }) => (words ? [words] : []));
  const [n = 0, chunk = 0, distinct = 0] = uniforms[0] ?? [];
  const [m = 0, k4 = 0] = uniforms.at(-1) ?? [];
  const { flops, elements } = count({
    ...context,
    n,
    slices: chunk > 0 ? Math.ceil(n / chunk) : 1,
    distinct,
    m,
    k: 4 * k4,
    extras: bindings.length - uniforms.length - 3,
    held: (place) => (bindings[place]?.bytes ?? 0) / 4,
  });
  return { flops, bytes: 4 * elements };
}
