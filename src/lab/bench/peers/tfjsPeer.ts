import type { Scalar, Tensor, Tensor2D, Variable } from '@tensorflow/tfjs-core';
import { LabError } from '../../../base/errors.ts';
import type { PackedBatch, PolicyShape } from '../../../policy/engine.ts';
import { layout } from '../../../policy/layout.ts';
import { NORM_EPSILON } from '../../../policy/twin/norm.ts';
import { ROTARY_BASE } from '../../../policy/twin/rotary.ts';
import { commonLength, STEP } from '../student.ts';
import { type Peer, type Same, type TrainingPeer, VERSIONS } from './peer.ts';

type Tf = typeof import('@tensorflow/tfjs-core');

/** What stays the same from step to step; made once, so that no step pays for it. */
interface Constants {
  tokens: Tensor;
  /** One-hot rows of the targets [N, V], each times w / Σ w. */
  targets: Tensor2D;
  /** Positions T of every sequence; N where they differ. */
  length: number;
  /** 0 where a position may look, else a large negative number [T, T]. */
  mask: Tensor2D;
  /** [N/T, 1, T, Dh/2]. */
  cos: Tensor;
  sin: Tensor;
}

/** Loads TensorFlow.js on WebGPU. @throws LabError where it finds no device. */
export async function loadTfjs(): Promise<Peer> {
  const tf = await import('@tensorflow/tfjs-core');
  await import('@tensorflow/tfjs-core/dist/register_all_gradients.js');
  await import('@tensorflow/tfjs-backend-webgpu');
  if (!(await tf.setBackend('webgpu')))
    throw new LabError('TensorFlow.js finds no WebGPU device', {
      where: 'tfjs',
      remedy: 'leave it out of the comparison',
    });
  return {
    name: 'tfjs',
    version: VERSIONS.tfjs,
    backend: 'webgpu',
    training: async (same, batch) => trainingPeer(tf, same, batch),
  };
}

/**
 * The same loss in TensorFlow.js, with its own Adam: unlike ours it neither clips nor decays, so a step of it has a little
 * less to do.
 */
async function trainingPeer(tf: Tf, same: Same, packed: PackedBatch): Promise<TrainingPeer> {
  const { shape } = same;
  const variables = makeVariables(tf, same);
  const constants = makeConstants(tf, shape, packed);
  const optimizer = tf.train.adam(STEP.learningRate, STEP.beta1, STEP.beta2, STEP.epsilon);
  const loss = () => lossOf(tf, shape, variables, constants);
  const all = Object.values(variables);
  return {
    async loss() {
      const value = tf.tidy(loss);
      const [number] = await value.data();
      value.dispose();
      return number!;
    },
    async steps(count) {
      for (let i = 0; i < count; i++) {
        const { value, grads } = tf.variableGrads(loss, all);
        optimizer.applyGradients(Object.entries(grads).map(([name, tensor]) => ({ name, tensor })));
        tf.dispose(grads);
        value.dispose();
      }
      // Reading a variable waits for everything that was queued before.
      await variables.norm!.data();
    },
    destroy() {
      optimizer.dispose();
      tf.dispose(variables);
      const { length: _, ...held } = constants;
      tf.dispose(held);
    },
  };
}

function makeVariables(tf: Tf, { shape, parameters }: Same): Record<string, Variable> {
  return Object.fromEntries(
    layout(shape).tensors.map(({ name, shape: dims, offset, size }) => {
      const values = parameters.slice(offset, offset + size);
      // A name of our own would clash with that of an earlier peer: TensorFlow.js keeps a registry.
      return [name, tf.variable(tf.tensor(values, dims))];
    }),
  );
}

function makeConstants(tf: Tf, shape: PolicyShape, batch: PackedBatch): Constants {
  const { tokens, starts, targets, weights } = batch;
  const n = tokens.length;
  const half = shape.width / shape.heads / 2;
  const sum = weights.reduce((a, b) => a + b, 0);
  const chosen = new Float32Array(n * shape.vocab);
  const length = commonLength(batch);
  const mask = new Float32Array(length * length).fill(-1e9);
  const cos = new Float32Array(n * half);
  const sin = new Float32Array(n * half);
  for (let row = 0; row < n; row++) {
    if (weights[row]! > 0) chosen[row * shape.vocab + targets[row]!] = weights[row]! / sum;
    if (row < length) mask.fill(0, row * length + starts[row]!, row * length + row + 1);
    for (let i = 0; i < half; i++) {
      const angle = (row - starts[row]!) * ROTARY_BASE ** (-i / half);
      cos[row * half + i] = Math.cos(angle);
      sin[row * half + i] = Math.sin(angle);
    }
  }
  return {
    tokens: tf.tensor1d(tokens, 'int32'),
    targets: tf.tensor2d(chosen, [n, shape.vocab]),
    length,
    mask: tf.tensor2d(mask, [length, length]),
    cos: tf.tensor(cos, [n / length, 1, length, half]),
    sin: tf.tensor(sin, [n / length, 1, length, half]),
  };
}

function lossOf(
  tf: Tf,
  shape: PolicyShape,
  variables: Record<string, Variable>,
  { tokens, targets, length, mask, cos, sin }: Constants,
) {
  const { width, heads, layers, hidden } = shape;
  const headWidth = width / heads;
  const n = tokens.size;
  const v = (name: string) => variables[name]!;
  const norm = (x: Tensor, gain: Tensor) => {
    const square = tf.mean(tf.square(x), -1, true);
    return tf.mul(tf.mul(x, tf.rsqrt(tf.add(square, NORM_EPSILON))), gain);
  };
  const linear = (x: Tensor, weight: Tensor) => tf.matMul(x as Tensor2D, weight as Tensor2D, false, true);
  const turn = (x: Tensor) => {
    const [a, b] = tf.split(x, 2, -1) as [Tensor, Tensor];
    const left = tf.sub(tf.mul(a, cos), tf.mul(b, sin));
    const right = tf.add(tf.mul(a, sin), tf.mul(b, cos));
    return tf.concat([left, right], -1);
  };
  const attention = (qkv: Tensor) => {
    const byHead = tf.transpose(tf.reshape(qkv, [n / length, length, 3 * heads, headWidth]), [0, 2, 1, 3]);
    const [q, k, values] = tf.split(byHead, 3, 1) as [Tensor, Tensor, Tensor];
    const product = tf.mul(tf.matMul(turn(q), turn(k), false, true), 1 / Math.sqrt(headWidth));
    const mixed = tf.matMul(tf.softmax(tf.add(product, mask), -1), values);
    return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [n, width]);
  };
  const activate = (x: Tensor) => {
    if (shape.mlp === 'swiglu') {
      const [gate, up] = tf.split(x, [hidden, hidden], -1) as [Tensor, Tensor];
      return tf.mul(tf.mul(gate, tf.sigmoid(gate)), up);
    }
    const cubic = tf.mul(tf.mul(x, tf.add(tf.mul(tf.square(x), 0.044715), 1)), 2 * Math.sqrt(2 / Math.PI));
    return tf.mul(x, tf.sigmoid(cubic));
  };
  let x: Tensor = tf.gather(v('embed'), tokens as Tensor2D);
  for (let l = 0; l < layers; l++) {
    const qkv = linear(norm(x, v(`${l}.norm1`)), v(`${l}.qkv`));
    x = tf.add(x, linear(attention(qkv), v(`${l}.out`)));
    const before = linear(norm(x, v(`${l}.norm2`)), v(`${l}.up`));
    x = tf.add(x, linear(activate(before), v(`${l}.down`)));
  }
  const logits = linear(norm(x, v('norm')), v('embed'));
  return tf.neg(tf.sum<Scalar>(tf.mul(tf.logSoftmax(logits), targets)));
}
