import type { Array as JaxArray } from '@jax-js/jax';
import { LabError } from '../../../base/errors.ts';
import type { PackedBatch, StepOptions } from '../../../policy/engine.ts';
import { commonLength, STEP } from '../student.ts';
import { type Jax, type JaxBatch, type JaxParameters, jaxBatch, jaxLoss, jaxParameters } from './jax.ts';
import { type Peer, type Same, type TrainingPeer, VERSIONS } from './peer.ts';

/** Loads jax-js on a device. @throws LabError where it finds none. */
export async function loadJax(backend: 'webgpu' | 'wasm'): Promise<Peer> {
  const jax = await import('@jax-js/jax');
  if (!(await jax.init(backend)).includes(backend))
    throw new LabError(`jax-js finds no ${backend} device`, {
      where: 'jax-js',
      remedy: 'leave it out of the comparison',
    });
  jax.defaultDevice(backend);
  return {
    name: 'jax-js',
    version: VERSIONS['jax-js'],
    backend,
    training: async (same, batch) => trainingPeer(jax, same, batch),
  };
}

/** Parameters and AdamW's moments. */
type State = [parameters: JaxParameters, moment1: JaxParameters, moment2: JaxParameters];

/**
 * Loss, gradient, clipping and AdamW as one compiled function, so that all of it may be fused. The bias corrections
 * 1 − β^t are arguments: as constants they would compile anew at every step.
 */
function stepFunction(jax: Jax, same: Same, length: number, options: StepOptions) {
  const { numpy: np } = jax;
  const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
  const loss = jax.valueAndGrad(jaxLoss(jax, same.shape, length));
  return jax.jit(
    (
      parameters: JaxParameters,
      moment1: JaxParameters,
      moment2: JaxParameters,
      batch: JaxBatch,
      correction1: JaxArray,
      correction2: JaxArray,
    ) => {
      const [value, gradient] = loss(jax.tree.ref(parameters), batch);
      const names = Object.keys(parameters);
      const squares = names.map((name) => np.sum(np.square(gradient[name]!.ref)));
      const norm = np.sqrt(squares.reduce((a, b) => a.add(b)));
      const scale = np.minimum(np.array(clip).div(norm), 1);
      const next: State = [{}, {}, {}];
      for (const name of names) {
        const p = parameters[name]!;
        const g = gradient[name]!.mul(scale.ref);
        const m = moment1[name]!.mul(beta1).add(g.ref.mul(1 - beta1));
        const v = moment2[name]!.mul(beta2).add(np.square(g).mul(1 - beta2));
        const root = np.sqrt(v.ref.div(correction2.ref)).add(epsilon);
        const direction = m.ref.div(correction1.ref).div(root);
        const decay = p.ndim > 1 ? weightDecay : 0;
        next[0][name] = p.mul(1 - learningRate * decay).sub(direction.mul(learningRate));
        next[1][name] = m;
        next[2][name] = v;
      }
      scale.dispose();
      correction1.dispose();
      correction2.dispose();
      return [value, ...next] as [JaxArray, ...State];
    },
  );
}

async function trainingPeer(jax: Jax, same: Same, packed: PackedBatch): Promise<TrainingPeer> {
  const { tree, numpy: np } = jax;
  const step = stepFunction(jax, same, commonLength(packed), STEP);
  const zeros = new Float32Array(same.parameters.length);
  const make = (flat: Float32Array) => jaxParameters(jax, same.shape, flat);
  let state: State = [make(same.parameters), make(zeros), make(zeros)];
  const batch = jaxBatch(jax, same.shape, packed);
  await jax.blockUntilReady([state, batch]);
  let done = 0;
  const once = () => {
    done += 1;
    const corrections = [STEP.beta1, STEP.beta2].map((beta) => np.array(1 - beta ** done)) as [
      JaxArray,
      JaxArray,
    ];
    const [loss, ...next] = step(...state, tree.ref(batch), ...corrections);
    state = next;
    return loss;
  };
  return {
    async loss() {
      const [value] = await once().data();
      return value!;
    },
    async steps(count) {
      for (let i = 0; i < count; i++) once().dispose();
      await jax.blockUntilReady(state[0]);
    },
    destroy() {
      tree.dispose(state);
      tree.dispose(batch);
      step.dispose();
    },
  };
}
