import { LabError } from '../../base/errors.ts';
import { LabDevice, openDevice } from '../../gpu/device.ts';
import { deviceLost, explain } from '../../gpu/failure.ts';
import { Memory } from '../../gpu/memory.ts';
import { readBuffer } from '../../gpu/read.ts';
import { checkBatch, checkStep, checkStepBatches, trainedCount } from '../batch.ts';
import type {
  Checkpoint,
  DeviceInfo,
  PackedBatch,
  PolicyEngine,
  PolicyShape,
  StepOptions,
  StepStats,
  Truncation,
} from '../engine.ts';
import { initialWeights } from '../initial.ts';
import { checkCheckpoint, checkWebGpuShape } from '../shape.ts';
import { checkEvaluation } from '../truncation.ts';
import type { BatchSizes } from './batchBuffers.ts';
import type { Stage } from './forward.ts';
import { checkMemory, planMemory } from './memoryPlan.ts';
import { createPlans, type Plans } from './plans.ts';
import { type DispatchTime, profilePlans } from './profile.ts';
import { WebGpuSampler } from './sampler.ts';
import { createStage } from './stage.ts';
import { StatsRing } from './statsRing.ts';
import { TruncatedLoss } from './truncatedLoss.ts';
import type { StepUniforms } from './uniforms.ts';

/** How an engine is set up. */
export interface WebGpuOptions {
  /** Most positions (tokens) in one batch; device memory grows with it. */
  capacity: number;
}

/**
 * A policy in WGSL. Everything is allocated, compiled and recorded here, once, for `capacity` positions; the weights
 * are those of seed 0 until `initialise` or `load`.
 * @param source an open device, which stays the caller's, or `navigator.gpu` (in Node Dawn's GPU object), on which the
 * engine opens a device of its own and destroys it with itself.
 * @throws LabError where the shape cannot be built (besides `checkShape`: hidden must be a multiple of 4), memory does
 * not suffice, a kernel does not compile or there is no device.
 */
export async function createWebGpuEngine(
  source: LabDevice | GPU,
  shape: PolicyShape,
  options: WebGpuOptions,
): Promise<WebGpuEngine> {
  checkWebGpuShape(shape);
  if (!Number.isInteger(options.capacity) || options.capacity < 1)
    throw new LabError(`the capacity is ${options.capacity}`, {
      where: 'options.capacity',
      remedy: 'give the most tokens of a batch, a whole number ≥ 1',
    });
  const owned = !(source instanceof LabDevice);
  const device = owned ? await openDevice(source) : source;
  const memory = new Memory(device.gpu, 'the policy');
  try {
    checkMemory(planMemory(shape, options), device.gpu.limits);
    return await assemble(device, owned, memory, { ...shape }, options.capacity);
  } catch (error) {
    const told = await explain(error, device, 'the policy');
    memory.destroy();
    if (owned) device.destroy();
    throw told;
  }
}

async function assemble(
  device: LabDevice,
  owned: boolean,
  memory: Memory,
  shape: PolicyShape,
  capacity: number,
): Promise<WebGpuEngine> {
  const built = createStage(memory, shape, capacity, device.report);
  await memory.settled();
  const plans = await createPlans(device, memory, built);
  await memory.settled();
  const { stage, uniforms, update } = built;
  const ring = new StatsRing(device.gpu, update.ring);
  return new WebGpuEngine({ device, owned, memory, stage, capacity, uniforms, ring, plans });
}

interface Parts {
  device: LabDevice;
  owned: boolean;
  memory: Memory;
  stage: Stage;
  capacity: number;
  uniforms: StepUniforms;
  ring: StatsRing;
  plans: Plans;
}

/** A policy on a WebGPU device. Made by `createWebGpuEngine`. */
export class WebGpuEngine implements PolicyEngine {
  readonly shape: PolicyShape;
  readonly device: DeviceInfo;
  readonly #parts: Parts;
  readonly #samplers = new Set<WebGpuSampler>();
  #truncated: TruncatedLoss | null = null;
  #step = 0;
  #destroyed = false;

  constructor(parts: Parts) {
    const { name, limits, features } = parts.device.report;
    this.#parts = parts;
    this.shape = Object.freeze(parts.stage.shape);
    this.device = { backend: 'webgpu', name, limits, features };
    this.initialise(0);
  }

  /** Bytes of device memory held, samplers included. */
  get bytes(): number {
    return [...this.#samplers].reduce((sum, sampler) => sum + sampler.bytes, this.#parts.memory.bytes);
  }

  /** Names of the kernels of one training step, one a dispatch, in order. */
  get dispatches(): string[] {
    const { forward, loss, backward, gather, update } = this.#parts.plans;
    return [forward, loss, backward, gather, update].flatMap((plan) => plan.labels);
  }

  /**
   * Milliseconds of each dispatch of a training step on this batch, by itself, `repeats` in one submit. For
   * benchmarks: the weights mean nothing afterwards.
   */
  async profile(batch: PackedBatch, repeats: number): Promise<DispatchTime[]> {
    this.#live();
    const { stage, capacity, uniforms, plans, device } = this.#parts;
    checkBatch(batch, this.shape, capacity);
    const sizes = stage.batch.upload(device.gpu.queue, batch);
    uniforms.setSizes(sizes);
    uniforms.upload(device.gpu.queue);
    return profilePlans(
      device.gpu,
      [plans.forward, plans.loss, plans.backward, plans.gather, plans.update],
      sizes,
      repeats,
    );
  }

  initialise(seed: number): void {
    this.#live();
    const { count } = this.#parts.stage.parameters;
    const zeros = new Float32Array(count);
    this.#take(initialWeights(this.shape, seed), zeros, zeros, 0);
  }

  train(batch: PackedBatch | readonly PackedBatch[], options: StepOptions): void {
    this.#live();
    const { device, stage, capacity, uniforms, ring, plans } = this.#parts;
    const { parts, total } = checkStepBatches(batch, this.shape, capacity);
    checkStep(options);
    const step = ++this.#step;
    const slot = ring.claim({
      step,
      trained: parts.reduce((sum, part) => sum + trainedCount(part), 0),
      tokens: parts.reduce((sum, part) => sum + part.tokens.length, 0),
    });
    // Without a trained token a micro-batch adds exactly nothing.
    const trained = parts.filter((part) => trainedCount(part) > 0);
    for (const [i, part] of trained.entries()) {
      const sizes = stage.batch.upload(device.gpu.queue, part, false, total);
      uniforms.setStep(options, step, slot, i > 0);
      const work = [plans.forward, plans.loss, plans.backward, plans.gather];
      if (i === trained.length - 1) work.push(plans.update);
      this.#submit(sizes, (pass) => {
        for (const plan of work) plan.encode(pass, sizes);
      });
    }
  }

  async stats(): Promise<StepStats[]> {
    this.#live();
    return this.#parts.ring.take();
  }

  async logits(batch: PackedBatch): Promise<Float32Array> {
    this.#live();
    const { stage, capacity, plans, device } = this.#parts;
    checkBatch(batch, this.shape, capacity, { untrained: true });
    const sizes = stage.batch.upload(device.gpu.queue, batch, true);
    const { vocab } = this.shape;
    const out = new Float32Array(sizes.n * vocab);
    for (const [i, tile] of stage.activations.tiles.entries()) {
      const columns = Math.ceil(tile.count / 4) * 4;
      this.#submit(sizes, (pass) => {
        if (i === 0) plans.forward.encode(pass, sizes);
        plans.logits[i]!.encode(pass, sizes);
      });
      const z = new Float32Array(
        await readBuffer(device.gpu, stage.activations.logits, sizes.n * columns * 4),
      );
      for (let row = 0; row < sizes.n; row++)
        out.set(z.subarray(row * columns, row * columns + tile.count), row * vocab + tile.base);
    }
    return out;
  }

  async evaluate(batch: PackedBatch, truncation?: Truncation, states?: Int32Array): Promise<Float32Array> {
    this.#live();
    const { stage, capacity, plans, device } = this.#parts;
    checkBatch(batch, this.shape, capacity, { untrained: true });
    checkEvaluation(batch, truncation, states, this.shape.vocab);
    if (truncation) return this.#evaluateTruncated(batch, truncation, states);
    const out = new Float32Array(batch.tokens.length);
    const sizes = stage.batch.upload(device.gpu.queue, batch);
    if (sizes.trained === 0) return out;
    this.#submit(sizes, (pass) => {
      plans.forward.encode(pass, sizes);
      plans.loss.encode(pass, sizes);
    });
    const nll = new Float32Array(await readBuffer(device.gpu, stage.activations.nll, sizes.trained * 4));
    let at = 0;
    for (let i = 0; i < out.length; i++) if (batch.weights[i] !== 0) out[i] = nll[at++]!;
    return out;
  }

  async #evaluateTruncated(
    batch: PackedBatch,
    truncation: Truncation,
    states: Int32Array | undefined,
  ): Promise<Float32Array> {
    const { stage, capacity, plans, device, memory } = this.#parts;
    this.#truncated ??= new TruncatedLoss(device, memory, stage, capacity);
    const truncated = this.#truncated;
    const plan = await truncated.prepare(truncation);
    this.#live();
    const out = new Float32Array(batch.tokens.length);
    const sizes = stage.batch.upload(device.gpu.queue, batch);
    if (sizes.trained === 0) return out;
    this.#submit(sizes, (pass) => plans.forward.encode(pass, sizes));
    const trained = [...batch.weights.keys()].filter((i) => batch.weights[i] !== 0);
    const rowStates = states ? Int32Array.from(trained, (i) => states[i]!) : null;
    const nll = await truncated.run(plan, truncation, rowStates, sizes.trained);
    for (const [row, i] of trained.entries()) out[i] = nll[row]!;
    return out;
  }

  sampler(rollouts: number): WebGpuSampler {
    this.#live();
    const { device, stage } = this.#parts;
    const { products, parameters, turns } = stage;
    const live = () => this.#live();
    const closed = (gone: WebGpuSampler) => this.#samplers.delete(gone);
    const host = { device, shape: this.shape, products, parameters, turns, live, closed };
    const sampler = new WebGpuSampler(host, rollouts);
    this.#samplers.add(sampler);
    return sampler;
  }

  async save(): Promise<Checkpoint> {
    this.#live();
    const { device, stage } = this.#parts;
    const { parameters, moment1, moment2, count } = stage.parameters;
    const step = this.#step;
    // All three copies are queued before anything is awaited, so that they belong to one step.
    const [p, m, v] = await Promise.all(
      [parameters, moment1, moment2].map((buffer) => readBuffer(device.gpu, buffer, count * 4)),
    );
    return {
      shape: { ...this.shape },
      step,
      parameters: new Float32Array(p!),
      moment1: new Float32Array(m!),
      moment2: new Float32Array(v!),
    };
  }

  load(checkpoint: Checkpoint): void {
    this.#live();
    checkCheckpoint(checkpoint, this.shape);
    const { parameters, moment1, moment2, step } = checkpoint;
    this.#take(parameters, moment1, moment2, step);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    for (const sampler of this.#samplers) sampler.destroy();
    this.#parts.memory.destroy();
    if (this.#parts.owned) this.#parts.device.destroy();
  }

  #take(parameters: Float32Array, moment1: Float32Array, moment2: Float32Array, step: number): void {
    const { device, stage, ring } = this.#parts;
    const write = (buffer: GPUBuffer, data: Float32Array) =>
      device.gpu.queue.writeBuffer(buffer, 0, new Float32Array(data));
    write(stage.parameters.parameters, parameters);
    write(stage.parameters.moment1, moment1);
    write(stage.parameters.moment2, moment2);
    ring.clear();
    this.#step = step;
  }

  /** One command buffer and one submit: uploads the sizes, clears the trained rows' gradient, encodes one pass. */
  #submit(sizes: BatchSizes, encode: (pass: GPUComputePassEncoder) => void): void {
    const { device, stage, uniforms } = this.#parts;
    uniforms.setSizes(sizes);
    uniforms.upload(device.gpu.queue);
    const encoder = device.gpu.createCommandEncoder();
    encoder.clearBuffer(stage.gradients.trained, 0, sizes.trained * this.shape.width * 4);
    const pass = encoder.beginComputePass();
    encode(pass);
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
  }

  #live(): void {
    if (this.#destroyed)
      throw new LabError('the policy was destroyed', { where: 'policy', remedy: 'create a new one' });
    const { ended, fault, faultKind } = this.#parts.device;
    if (ended) throw deviceLost(ended, 'policy');
    if (fault !== null)
      throw new LabError(`the graphics device reported an error: ${fault}`, {
        where: 'policy',
        remedy: 'open a new device and load the last checkpoint',
        kind: faultKind,
      });
  }
}
