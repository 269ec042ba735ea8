import { LabError } from '../../base/errors.ts';
import { checkBatch, checkStep, checkStepBatches, trainedCount } from '../batch.ts';
import { CpuSampler } from '../cpuSampler.ts';
import type {
  Checkpoint,
  DeviceInfo,
  PackedBatch,
  PolicyEngine,
  PolicyShape,
  Sampler,
  StepOptions,
  StepStats,
  Truncation,
} from '../engine.ts';
import { initialWeights } from '../initial.ts';
import { layout } from '../layout.ts';
import { checkCheckpoint, checkShape } from '../shape.ts';
import { checkEvaluation } from '../truncation.ts';
import { TwinDecoder } from './decoder.ts';
import { matmulNt } from './matmul.ts';
import { backward, forward, loss } from './model.ts';
import { adamw, gradNorm } from './optimiser.ts';
import { truncatedLoss } from './truncatedLoss.ts';
import { type Weights, weightsOf } from './weights.ts';
import { allocate, type Workspace } from './workspace.ts';

/** Positions a batch may hold where nothing else is said. */
const CAPACITY = 16384;

/**
 * A policy on the float64 twins, for browsers without WebGPU and WebAssembly SIMD, and as the reference in tests. Parameters and moments
 * are float32, as in WGSL, so checkpoints are interchangeable and a resumed run continues bit for bit; activations and
 * gradients are float64: products from either storage take the same time (the strips of `product` are float64
 * anyway), so the exact one is kept. Everything runs when it is called, on the calling thread.
 * @param options.capacity most positions in one batch; memory grows with the largest batch seen, not with this.
 * @throws LabError on a shape that no engine can build, or a capacity that is no whole number ≥ 1.
 */
export function createCpuEngine(shape: PolicyShape, options: { capacity?: number } = {}): PolicyEngine {
  return new CpuEngine(shape, options.capacity ?? CAPACITY);
}

class CpuEngine implements PolicyEngine {
  readonly shape: PolicyShape;
  readonly device: DeviceInfo;
  readonly #capacity: number;
  readonly #tensors;
  readonly #moments;
  readonly #parameters: Float32Array;
  /** The parameters once more in float64: what the twins read. */
  readonly #flat: Float64Array;
  readonly #weights: Weights;
  readonly #gradient: Float64Array;
  readonly #gradients: Weights;
  #space: Workspace | null = null;
  #step = 0;
  #stats: StepStats[] = [];
  #destroyed = false;

  constructor(shape: PolicyShape, capacity: number) {
    checkShape(shape);
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new LabError(`the capacity is ${capacity}`, {
        where: 'options.capacity',
        remedy: 'give a whole number ≥ 1',
      });
    this.shape = Object.freeze({ ...shape });
    this.device = { backend: 'cpu', name: 'JavaScript, float64', limits: { capacity }, features: [] };
    this.#capacity = capacity;
    const { tensors, count } = layout(shape);
    this.#tensors = tensors;
    this.#parameters = new Float32Array(count);
    this.#moments = { first: new Float32Array(count), second: new Float32Array(count) };
    this.#flat = new Float64Array(count);
    this.#weights = weightsOf(shape, this.#flat);
    this.#gradient = new Float64Array(count);
    this.#gradients = weightsOf(shape, this.#gradient);
    this.initialise(0);
  }

  initialise(seed: number): void {
    this.#live();
    this.#take(initialWeights(this.shape, seed), 0);
    this.#moments.first.fill(0);
    this.#moments.second.fill(0);
  }

  train(batch: PackedBatch | readonly PackedBatch[], options: StepOptions): void {
    this.#live();
    const { parts, total } = checkStepBatches(batch, this.shape, this.#capacity);
    checkStep(options);
    let value = 0;
    this.#gradient.fill(0);
    for (const part of parts) {
      if (trainedCount(part) === 0) continue;
      const space = this.#forward(part);
      value += loss(this.shape, this.#weights, part, space, total);
      backward(this.shape, this.#weights, part, space, this.#gradients, total);
    }
    const norm = gradNorm(this.#gradient);
    this.#step++;
    const state = {
      parameters: this.#parameters,
      gradient: this.#gradient,
      moment1: this.#moments.first,
      moment2: this.#moments.second,
    };
    adamw(state, this.#tensors, options, this.#step, norm);
    this.#flat.set(this.#parameters);
    const trained = parts.reduce((sum, part) => sum + trainedCount(part), 0);
    const tokens = parts.reduce((sum, part) => sum + part.tokens.length, 0);
    this.#stats.push({ step: this.#step, loss: value, gradientNorm: norm, trained, tokens });
  }

  async stats(): Promise<StepStats[]> {
    this.#live();
    const taken = this.#stats;
    this.#stats = [];
    return taken;
  }

  async logits(batch: PackedBatch): Promise<Float32Array> {
    this.#live();
    checkBatch(batch, this.shape, this.#capacity, { untrained: true });
    const { width: k, vocab: m } = this.shape;
    const n = batch.tokens.length;
    const logits = new Float64Array(n * m);
    matmulNt(this.#forward(batch).h, this.#weights.embed, logits, { n, m, k });
    return Float32Array.from(logits);
  }

  async evaluate(batch: PackedBatch, truncation?: Truncation, states?: Int32Array): Promise<Float32Array> {
    this.#live();
    checkBatch(batch, this.shape, this.#capacity, { untrained: true });
    checkEvaluation(batch, truncation, states, this.shape.vocab);
    const space = this.#forward(batch);
    if (truncation) {
      const size = { n: batch.tokens.length, d: this.shape.width, v: this.shape.vocab };
      return Float32Array.from(truncatedLoss(space.h, this.#weights.embed, batch, truncation, states, size));
    }
    loss(this.shape, this.#weights, batch, space);
    return Float32Array.from(space.nll.subarray(0, batch.tokens.length));
  }

  sampler(rollouts: number): Sampler {
    this.#live();
    const weights = () => {
      this.#live();
      return this.#weights;
    };
    return new CpuSampler(rollouts, (count) => new TwinDecoder(this.shape, weights, count));
  }

  async save(): Promise<Checkpoint> {
    this.#live();
    return {
      shape: { ...this.shape },
      step: this.#step,
      parameters: this.#parameters.slice(),
      moment1: this.#moments.first.slice(),
      moment2: this.#moments.second.slice(),
    };
  }

  load(checkpoint: Checkpoint): void {
    this.#live();
    checkCheckpoint(checkpoint, this.shape);
    this.#take(checkpoint.parameters, checkpoint.step);
    this.#moments.first.set(checkpoint.moment1);
    this.#moments.second.set(checkpoint.moment2);
  }

  destroy(): void {
    this.#destroyed = true;
    this.#space = null;
    this.#stats = [];
  }

  #take(parameters: Float32Array, step: number): void {
    this.#parameters.set(parameters);
    this.#flat.set(parameters);
    this.#step = step;
    this.#stats = [];
  }

  /** Runs the model; the workspace grows to the next power of two where the batch is larger than any before. */
  #forward(batch: PackedBatch): Workspace {
    const n = batch.tokens.length;
    if (this.#space === null || this.#space.rows < n)
      this.#space = allocate(this.shape, 2 ** Math.ceil(Math.log2(n)));
    forward(this.shape, this.#weights, batch, this.#space);
    return this.#space;
  }

  #live(): void {
    if (this.#destroyed)
      throw new LabError('the policy was destroyed', { where: 'policy', remedy: 'create a new one' });
  }
}
