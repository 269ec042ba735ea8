/** Sizes of the device check. */
export const SIZE = { rows: 5, width: 8, heads: 2, vocab: 12 };

/** Where each sequence of the rows begins: two sequences, so that a wrong mask shows. */
const STARTS = [0, 0, 0, 3, 3];

/** What the chain computes in turn, by the kernel that does it. */
export type Stage =
  | 'rms_norm'
  | 'matmul_nt'
  | 'attention'
  | 'matmul_nt, the tile of large products'
  | 'cross_entropy';

/** Numbers that float32 holds exactly, of sizes that keep every result near 1. */
export function testInputs() {
  const { rows, width, vocab } = SIZE;
  const spread = (count: number, factor: number, modulus: number, scale: number) =>
    Float32Array.from({ length: count }, (_, i) => (((i * factor) % modulus) - (modulus - 1) / 2) * scale);
  return {
    x: spread(rows * width, 7, 11, 1),
    gain: Float32Array.from({ length: width }, (_, i) => 0.5 + i / 8),
    weights: spread(3 * width * width, 5, 13, 1 / 16),
    embedding: spread(vocab * width, 3, 17, 1 / 8),
    starts: Uint32Array.from(STARTS),
    targets: Uint32Array.from({ length: rows }, (_, i) => (i * 5) % vocab),
  };
}

/** The same chain in float64: every stage from the stage before. */
export function expectedAnswers(inputs: ReturnType<typeof testInputs>): Record<Stage, number[]> {
  const { rows, width, heads, vocab } = SIZE;
  const normed = range(rows).flatMap((row) => normalise(rowOf(inputs.x, row, width), inputs.gain));
  const qkv = project(normed, inputs.weights, width, 3 * width);
  const headWidth = width / heads;
  const attended = range(rows).flatMap((row) =>
    range(heads).flatMap((head) => {
      const part = (at: number, which: number) =>
        qkv.slice(at * 3 * width + which * width + head * headWidth).slice(0, headWidth);
      const seen = range(row - STARTS[row]! + 1).map((i) => STARTS[row]! + i);
      const scores = seen.map((j) => dot(part(row, 0), part(j, 1)) / Math.sqrt(headWidth));
      const lse = logSumExp(scores);
      return range(headWidth).map((i) =>
        seen.reduce((sum, j, k) => sum + Math.exp(scores[k]! - lse) * part(j, 2)[i]!, 0),
      );
    }),
  );
  const logits = project(attended, inputs.embedding, width, vocab);
  const nll = range(rows).map((row) => {
    const own = rowOf(logits, row, vocab);
    return logSumExp(own) - own[inputs.targets[row]!]!;
  });
  return {
    rms_norm: normed,
    matmul_nt: qkv,
    attention: attended,
    'matmul_nt, the tile of large products': logits,
    cross_entropy: nll,
  };
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

const rowOf = (values: ArrayLike<number>, row: number, width: number): number[] =>
  range(width).map((i) => values[row * width + i]!);

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);

function normalise(x: readonly number[], gain: ArrayLike<number>): number[] {
  const scale = 1 / Math.sqrt(dot(x, x) / x.length + 1e-6);
  return x.map((value, i) => value * scale * gain[i]!);
}

/** x [rows, width] times matrix [columns, width], transposed. */
function project(x: readonly number[], matrix: ArrayLike<number>, width: number, columns: number): number[] {
  return range(x.length / width).flatMap((row) =>
    range(columns).map((column) => dot(rowOf(x, row, width), rowOf(matrix, column, width))),
  );
}

const logSumExp = (values: readonly number[]): number =>
  Math.log(values.reduce((sum, value) => sum + Math.exp(value), 0));
