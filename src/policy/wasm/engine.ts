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
import { checkCheckpoint, checkShape } from '../shape.ts';
import { checkEvaluation } from '../truncation.ts';
import { WasmDecoder } from './decoder.ts';
import { hasWasmSimd } from './kernels.ts';
import { logits, truncatedLoss } from './logits.ts';
import { type Machine, openMachine } from './machine.ts';
import { backward, forward, loss } from './model.ts';
import { update } from './optimiser.ts';
import { allocateWorkspace, uploadBatch, type Workspace } from './workspace.ts';

/** Positions a batch may hold where nothing else is said. */
const CAPACITY = 16384;

/**
 * A policy in float32 on the processor: kernels in WebAssembly with 128-bit SIMD, one thread. Everything runs when it is
 * called, on the calling thread; every sum has one order, so equal calls give equal bits.
 * @param options.capacity most positions in one batch; memory grows with the largest batch seen, not with this.
 * @throws LabError on a shape that no engine can build, a capacity that is no whole number ≥ 1, a machine without
 * WebAssembly SIMD, or a policy beyond the 4 GiB of its memory.
 */
export async function createWasmEngine(
  shape: PolicyShape,
  options: { capacity?: number } = {},
): Promise<PolicyEngine> {
  const capacity = options.capacity ?? CAPACITY;
  checkShape(shape);
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new LabError(`the capacity is ${capacity}`, {
      where: 'options.capacity',
      remedy: 'give a whole number ≥ 1',
    });
  if (!hasWasmSimd())
    throw new LabError('there is no WebAssembly SIMD here', {
      where: 'WebAssembly',
      remedy: 'use a browser from 2023 or later, or the float64 engine',
    });
  return new WasmEngine(await openMachine(Object.freeze({ ...shape })), capacity);
}

class WasmEngine implements PolicyEngine {
  readonly shape: PolicyShape;
  readonly device: DeviceInfo;
  readonly #capacity: number;
  /** null once destroyed: nothing else holds the memory. */
  #machine: Machine | null;
  #space: Workspace | null = null;
  #step = 0;
  #stats: StepStats[] = [];

  constructor(machine: Machine, capacity: number) {
    this.shape = machine.shape;
    this.device = {
      backend: 'cpu',
      name: 'WebAssembly SIMD',
      limits: { capacity, memory: 2 ** 32, threads: 1 },
      features: ['simd128'],
    };
    this.#capacity = capacity;
    this.#machine = machine;
    this.initialise(0);
  }

  initialise(seed: number): void {
    const machine = this.#live();
    this.#take(machine, initialWeights(this.shape, seed), 0);
    for (const moment of ['moment1', 'moment2'] as const) flat(machine, moment).fill(0);
  }

  train(batch: PackedBatch | readonly PackedBatch[], options: StepOptions): void {
    const machine = this.#live();
    const { parts, total } = checkStepBatches(batch, this.shape, this.#capacity);
    checkStep(options);
    const space = this.#room(machine, Math.max(...parts.map((part) => part.tokens.length)));
    flat(machine, 'gradient').fill(0);
    let sum = 0;
    for (const part of parts) {
      const chosen = trainedRows(part);
      if (chosen.length === 0) continue;
      const rows = { n: part.tokens.length, chosen: chosen.length };
      uploadBatch(machine, space, part, chosen);
      forward(machine, space, rows);
      backward(machine, space, rows, total);
      const nll = machine.memory.reals(space.step.nll, chosen.length);
      for (const [i, row] of chosen.entries()) sum += part.weights[row]! * nll[i]!;
    }
    this.#step++;
    const gradientNorm = update(machine, options, this.#step);
    const trained = parts.reduce((count, part) => count + trainedCount(part), 0);
    const tokens = parts.reduce((count, part) => count + part.tokens.length, 0);
    this.#stats.push({ step: this.#step, loss: sum / total, gradientNorm, trained, tokens });
  }

  async stats(): Promise<StepStats[]> {
    this.#live();
    const taken = this.#stats;
    this.#stats = [];
    return taken;
  }

  async logits(batch: PackedBatch): Promise<Float32Array> {
    const machine = this.#live();
    checkBatch(batch, this.shape, this.#capacity, { untrained: true });
    const space = this.#forward(machine, batch, Int32Array.from(batch.tokens.keys()));
    const { vocab } = this.shape;
    const all = new Float32Array(batch.tokens.length * vocab);
    logits(machine, space, batch.tokens.length, (row, values) => all.set(values, row * vocab));
    return all;
  }

  async evaluate(batch: PackedBatch, truncation?: Truncation, states?: Int32Array): Promise<Float32Array> {
    const machine = this.#live();
    checkBatch(batch, this.shape, this.#capacity, { untrained: true });
    checkEvaluation(batch, truncation, states, this.shape.vocab);
    const chosen = trainedRows(batch);
    const space = this.#forward(machine, batch, chosen);
    const nll = new Float32Array(batch.tokens.length);
    if (truncation) truncatedLoss(machine, space, chosen, { batch, truncation, states }, nll);
    else {
      loss(machine, space, { n: batch.tokens.length, chosen: chosen.length });
      const values = machine.memory.reals(space.step.nll, chosen.length);
      for (const [i, row] of chosen.entries()) nll[row] = values[i]!;
    }
    return nll;
  }

  sampler(rollouts: number): Sampler {
    this.#live();
    return new CpuSampler(rollouts, (count) => new WasmDecoder(() => this.#live(), count));
  }

  async save(): Promise<Checkpoint> {
    const machine = this.#live();
    return {
      shape: { ...this.shape },
      step: this.#step,
      parameters: flat(machine, 'parameters').slice(),
      moment1: flat(machine, 'moment1').slice(),
      moment2: flat(machine, 'moment2').slice(),
    };
  }

  load(checkpoint: Checkpoint): void {
    const machine = this.#live();
    checkCheckpoint(checkpoint, this.shape);
    this.#take(machine, checkpoint.parameters, checkpoint.step);
    for (const moment of ['moment1', 'moment2'] as const) flat(machine, moment).set(checkpoint[moment]);
  }

  destroy(): void {
    this.#machine = null;
    this.#space = null;
    this.#stats = [];
  }

  #take(machine: Machine, parameters: Float32Array, step: number): void {
    flat(machine, 'parameters').set(parameters);
    this.#step = step;
    this.#stats = [];
  }

  #forward(machine: Machine, batch: PackedBatch, chosen: Int32Array): Workspace {
    const space = this.#room(machine, batch.tokens.length);
    uploadBatch(machine, space, batch, chosen);
    forward(machine, space, { n: batch.tokens.length, chosen: chosen.length });
    return space;
  }

  /** The workspace; it grows to the next power of two where a batch is larger than any before. */
  #room(machine: Machine, n: number): Workspace {
    if (this.#space !== null && this.#space.rows >= n) return this.#space;
    this.#space?.free();
    this.#space = null;
    this.#space = allocateWorkspace(machine, Math.min(this.#capacity, 2 ** Math.ceil(Math.log2(n))));
    return this.#space;
  }

  #live(): Machine {
    if (this.#machine === null)
      throw new LabError('the policy was destroyed', { where: 'policy', remedy: 'create a new one' });
    return this.#machine;
  }
}

const flat = ({ memory, at, count }: Machine, name: 'parameters' | 'gradient' | 'moment1' | 'moment2') =>
  memory.reals(at[name], count);

/** Positions of weight > 0, in order. */
function trainedRows({ weights }: PackedBatch): Int32Array {
  return Int32Array.from([...weights.keys()].filter((i) => weights[i]! > 0));
}
