import type { Array as JaxArray } from '@jax-js/jax';
import type { PackedBatch, PolicyShape } from '../../../policy/engine.ts';
import { layout } from '../../../policy/layout.ts';
import { NORM_EPSILON } from '../../../policy/twin/norm.ts';
import { ROTARY_BASE } from '../../../policy/twin/rotary.ts';

/** The library, loaded only where it is asked for. */
export type Jax = typeof import('@jax-js/jax');
/** Precision of everything that is no index. The WebAssembly backend has both, WebGPU float32 alone. */
export type JaxReal = 'float32' | 'float64';
/** Arrays by name: the parameters by the names of `layout`, each in its own shape. */
export type JaxParameters = Record<string, JaxArray>;
/** A batch of N positions. */
export type JaxBatch = {
  /** int32 [N]. */
  tokens: JaxArray;
  starts: JaxArray;
  targets: JaxArray;
  /** Weight of each position in the loss, w / Σ w [N]. */
  shares: JaxArray;
  /** Cosine and sine of the rotary positions [N, 1, Dh/2]. */
  cos: JaxArray;
  sin: JaxArray;
};

/** The flat parameter buffer as jax-js arrays; the caller disposes of them. */
export function jaxParameters(
  jax: Jax,
  shape: PolicyShape,
  flat: ArrayLike<number>,
  real: JaxReal = 'float32',
): JaxParameters {
  return Object.fromEntries(
    layout(shape).tensors.map(({ name, shape: dims, offset, size }) => {
      const values = takeReals(real, size, (i) => flat[offset + i]!);
      return [name, jax.numpy.array(values, { shape: dims, dtype: jax.DType[dtypeOf(real)] })];
    }),
  );
}

/** A packed batch as jax-js arrays; the caller disposes of them. */
export function jaxBatch(
  jax: Jax,
  shape: PolicyShape,
  batch: PackedBatch,
  real: JaxReal = 'float32',
): JaxBatch {
  const n = batch.tokens.length;
  const half = shape.width / shape.heads / 2;
  const sum = batch.weights.reduce((a, b) => a + b, 0);
  const ids = (values: Int32Array) => jax.numpy.array(values, { dtype: jax.DType.Int32 });
  const reals = (dims: number[], of: (i: number) => number) => {
    const values = takeReals(
      real,
      dims.reduce((a, b) => a * b),
      of,
    );
    return jax.numpy.array(values, { shape: dims, dtype: jax.DType[dtypeOf(real)] });
  };
  const angle = (i: number) => {
    const row = Math.floor(i / half);
    return (row - batch.starts[row]!) * ROTARY_BASE ** (-(i % half) / half);
  };
  // Ids of untrained positions may be anything; a gather wants them inside the vocabulary.
  const targets = batch.targets.map((id, i) => (batch.weights[i]! > 0 ? id : 0));
  return {
    tokens: ids(batch.tokens),
    starts: ids(batch.starts),
    targets: ids(targets),
    shares: reals([n], (i) => batch.weights[i]! / sum),
    cos: reals([n, 1, half], (i) => Math.cos(angle(i))),
    sin: reals([n, 1, half], (i) => Math.sin(angle(i))),
  };
}

/**
 * The policy's loss Σ w·nll / Σ w as a function of parameters and batch, to be differentiated or compiled. jax-js counts
 * references: an array is consumed where it is used, and `.ref` keeps it for another use.
 * @param length positions of every sequence where all have as many: attention then stays inside each. Else one N × N mask.
 */
export function jaxLoss(
  jax: Jax,
  shape: PolicyShape,
  length?: number,
): (parameters: JaxParameters, batch: JaxBatch) => JaxArray {
  const { numpy: np, nn } = jax;
  const { width, heads, hidden, layers } = shape;
  const headWidth = width / heads;

  const norm = (x: JaxArray, gain: JaxArray) => {
    const square = np.mean(np.square(x.ref), -1, { keepdims: true });
    return x.div(np.sqrt(square.add(NORM_EPSILON))).mul(gain);
  };
  const linear = (x: JaxArray, weight: JaxArray) => np.matmul(x, np.matrixTranspose(weight));
  const turn = (x: JaxArray, { cos, sin }: JaxBatch) => {
    const [a, b] = np.split(x, 2, -1) as [JaxArray, JaxArray];
    const left = a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref));
    const right = a.mul(sin.ref).add(b.mul(cos.ref));
    return np.concatenate([left, right], -1);
  };
  const attention = (qkv: JaxArray, batch: JaxBatch, mask: JaxArray) => {
    const n = qkv.shape[0]!;
    const rows = length ?? n;
    const parts = np.split(qkv.reshape([n, 3 * heads, headWidth]), 3, 1) as [JaxArray, JaxArray, JaxArray];
    const [q, k, v] = parts;
    // softmax(q·kᵀ/√Dh)·v by sequence and head, masked with −∞ as the library's own attention does; its einsum asks for
    // iterator helpers, which Node 20 lacks.
    const bySequence = (x: JaxArray, axes: number[]) =>
      np.transpose(x.reshape([n / rows, rows, heads, headWidth]), axes);
    const keys = bySequence(turn(k, batch), [0, 2, 3, 1]);
    const product = np.matmul(bySequence(turn(q, batch), [0, 2, 1, 3]), keys);
    const scores = np.where(mask, product.mul(1 / Math.sqrt(headWidth)), Number.NEGATIVE_INFINITY);
    const mixed = np.matmul(nn.softmax(scores, -1), bySequence(v, [0, 2, 1, 3]));
    return np.transpose(mixed, [0, 2, 1, 3]).reshape([n, width]);
  };
  const activate = (x: JaxArray) => {
    if (shape.mlp !== 'swiglu') return nn.gelu(x);
    const [gate, up] = np.split(x, [hidden], -1) as [JaxArray, JaxArray];
    return nn.silu(gate).mul(up);
  };

  return (parameters, batch) => {
    const p = (name: string) => parameters[name]!;
    const n = batch.tokens.shape[0]!;
    const size = length ?? n;
    const rows = np.arange(size).reshape([size, 1]);
    const columns = np.arange(size).reshape([1, size]);
    const causal = columns.ref.lessEqual(rows);
    const opened = length ? columns.greaterEqual(0) : columns.greaterEqual(batch.starts.ref.reshape([n, 1]));
    const mask = np.logicalAnd(causal, opened).reshape([1, 1, size, size]);
    batch.starts.dispose();
    // Rows are picked by products with one-hot rows: jit refuses the gradient of a gather ("scatter input is not imm").
    const oneHot = (ids: JaxArray) => nn.oneHot(ids, shape.vocab).astype(p('embed').dtype);
    let x = np.matmul(oneHot(batch.tokens), p('embed').ref);
    for (let l = 0; l < layers; l++) {
      const qkv = linear(norm(x.ref, p(`${l}.norm1`)), p(`${l}.qkv`));
      x = x.add(linear(attention(qkv, batch, mask.ref), p(`${l}.out`)));
      const before = linear(norm(x.ref, p(`${l}.norm2`)), p(`${l}.up`));
      x = x.add(linear(activate(before), p(`${l}.down`)));
    }
    const targets = oneHot(batch.targets);
    const logits = linear(norm(x, p('norm')), p('embed'));
    const picked = np.sum(nn.logSoftmax(logits).mul(targets), -1);
    mask.dispose();
    batch.cos.dispose();
    batch.sin.dispose();
    return np.sum(picked.mul(batch.shares)).neg();
  };
}

/** Loss and its gradient by every parameter, by reverse-mode differentiation, compiled once a shape of batch. */
export function jaxValueAndGrad(jax: Jax, shape: PolicyShape) {
  const loss = jaxLoss(jax, shape);
  return jax.jit((parameters: JaxParameters, batch: JaxBatch) => jax.valueAndGrad(loss)(parameters, batch));
}

const dtypeOf = (real: JaxReal) => (real === 'float64' ? 'Float64' : 'Float32');

function takeReals(real: JaxReal, count: number, of: (i: number) => number) {
  const values = real === 'float64' ? new Float64Array(count) : new Float32Array(count);
  for (let i = 0; i < count; i++) values[i] = of(i);
  return values;
}
