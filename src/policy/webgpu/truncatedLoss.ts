import type { LabDevice } from '../../gpu/device.ts';
import type { Memory } from '../../gpu/memory.ts';
import { type Plan, recordPlan } from '../../gpu/plan.ts';
import { readBuffer } from '../../gpu/read.ts';
import type { Truncation } from '../engine.ts';
import { launch, type Stage } from './forward.ts';
import { GrammarBuffer, turnWords } from './grammarBuffer.ts';
import * as kernels from './kernels.ts';

/** Most logits held at a time, 16 MiB: rows go through in slabs, since a nucleus needs the whole vocabulary of a row. */
const LOGITS = 1 << 22;

/** Everything on the device that a truncated evaluation needs besides the forward pass. */
export class TruncatedLoss {
  readonly #device: LabDevice;
  readonly #memory: Memory;
  readonly #stage: Stage;
  readonly #slab: number;
  readonly #buffers;
  readonly #grammar: GrammarBuffer;
  readonly #plans = new Map<string, Promise<Plan>>();

  /** @param capacity most positions of a batch. @throws LabError where a buffer exceeds the device's limits. */
  constructor(device: LabDevice, memory: Memory, stage: Stage, capacity: number) {
    const { vocab, width } = stage.shape;
    const columns = Math.ceil(vocab / 4) * 4;
    const slab = Math.min(capacity, Math.max(1, Math.floor(LOGITS / columns)));
    const uniform = (label: string, bytes: number) =>
      memory.create(label, bytes, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.#device = device;
    this.#memory = memory;
    this.#stage = stage;
    this.#slab = slab;
    this.#grammar = new GrammarBuffer(device.gpu, memory);
    this.#buffers = {
      dims: uniform('truncated dims', 16),
      turn: uniform('truncation', 32),
      hidden: memory.storage('truncated hidden', slab * width),
      logits: memory.storage('truncated logits', slab * columns),
      targets: memory.storage('truncated targets', slab),
      states: memory.storage('truncated states', slab),
      part: memory.storage('truncated nll of a slab', slab),
      nll: memory.storage('truncated nll', capacity),
    };
  }

  /** Compiles what a truncation needs. `queue` then runs at once, so that nothing comes between it and the forward pass. */
  async prepare({ topP = 1, grammar }: Truncation): Promise<Plan> {
    const buffer = grammar ? this.#grammar.reserve(grammar) : null;
    const key = `${topP < 1} ${buffer?.size ?? 0}`;
    let plan = this.#plans.get(key);
    if (!plan) {
      plan = this.#record(topP < 1, buffer);
      this.#plans.set(key, plan);
      plan.catch(() => this.#plans.delete(key));
    }
    await this.#memory.settled();
    return plan;
  }

  /**
   * Queues the slabs of R rows whose hidden rows and targets stand where the forward pass left them, and reads them.
   * @param states of the grammar [R]. @returns nll [R], +Infinity outside the truncated distribution.
   */
  async run(
    plan: Plan,
    truncation: Truncation,
    states: Int32Array<ArrayBuffer> | null,
    rows: number,
  ): Promise<Float32Array> {
    const { gpu } = this.#device;
    const { dims, turn, hidden, targets, states: slabStates, part, nll } = this.#buffers;
    const { activations, batch, shape } = this.#stage;
    if (truncation.grammar) this.#grammar.upload(truncation.grammar);
    gpu.queue.writeBuffer(turn, 0, turnWords(truncation));
    const all = batch.field('targets');
    const rowBytes = shape.width * 4;
    for (let at = 0; at < rows; at += this.#slab) {
      const n = Math.min(this.#slab, rows - at);
      gpu.queue.writeBuffer(dims, 0, new Uint32Array([n, 0, 0, 0]));
      if (states) gpu.queue.writeBuffer(slabStates, 0, states, at, n);
      const encoder = gpu.createCommandEncoder();
      encoder.copyBufferToBuffer(activations.hidden, at * rowBytes, hidden, 0, n * rowBytes);
      encoder.copyBufferToBuffer(all.buffer, (all.offset ?? 0) + at * 4, targets, 0, n * 4);
      const pass = encoder.beginComputePass();
      plan.encode(pass, { n });
      pass.end();
      encoder.copyBufferToBuffer(part, 0, nll, at * 4, n * 4);
      gpu.queue.submit([encoder.finish()]);
    }
    const values = new Float32Array(await readBuffer(gpu, nll, rows * 4));
    // The kernel's −1 stands for no mass: WGSL has no infinities.
    return values.map((value) => (value === -1 ? Infinity : value));
  }

  #record(nucleus: boolean, grammar: GPUBuffer | null): Promise<Plan> {
    const { gpu, pipelines, report } = this.#device;
    const { shape, products, parameters } = this.#stage;
    const { dims, turn, hidden, logits, targets, states, part } = this.#buffers;
    const product = products.nt({ m: shape.vocab, k: shape.width }, 'plain', 'n');
    const rowTiling = kernels.rowTilingFor(report.software, shape.vocab);
    const loss = kernels.truncatedLoss(shape.vocab, rowTiling, { nucleus, grammar: grammar !== null }, 'n');
    return recordPlan(gpu, pipelines, this.#memory, [
      launch(product, dims, hidden, parameters.weights('embed'), logits),
      launch(loss, dims, turn, logits, targets, part, ...(grammar ? [grammar, states] : [])),
    ]);
  }
}
