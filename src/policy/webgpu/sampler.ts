import { LabError } from '../../base/errors.ts';
import type { LabDevice } from '../../gpu/device.ts';
import type { Tiling } from '../../gpu/matmul.ts';
import { Memory } from '../../gpu/memory.ts';
import { readBuffer } from '../../gpu/read.ts';
import type { PolicyShape, Sampler, TurnOptions } from '../engine.ts';
import { checkTurn } from '../turn.ts';
import type { ParameterBuffers } from './parameters.ts';
import {
  createSamplerBuffers,
  createSamplerPlans,
  type RowList,
  type SamplerBuffers,
} from './samplerPlans.ts';

/** Prompt rows that go through the layers at a time. */
const SLAB = 1024;
/** Steps in one submit: bounds the time that a slow device works without giving way. */
const STEPS = 8;

/** What a sampler borrows of its engine. */
export interface SamplerHost {
  device: LabDevice;
  shape: PolicyShape;
  tiling: Tiling;
  parameters: ParameterBuffers;
  turns: GPUBuffer;
  /** Throws where the engine is destroyed or its device lost. */
  live(): void;
  /** Told when a sampler is destroyed. */
  closed(sampler: WebGpuSampler): void;
}

/** One row for the kernels. */
interface Row {
  rollout: number;
  position: number;
  token: number;
}

/** Decodes many rollouts with a key/value cache on the device, with one readback a turn. */
export class WebGpuSampler implements Sampler {
  readonly rollouts: number;
  readonly #host: SamplerHost;
  readonly #memory: Memory;
  readonly #slab: number;
  readonly #buffers: SamplerBuffers;
  readonly #plans;
  /** Tokens of each rollout in the cache, and those that enter it with the next turn. */
  readonly #cached: Int32Array;
  #waiting: number[][];
  #destroyed = false;

  /** @throws LabError on a count of rollouts that is no whole number ≥ 1 or exceeds the device's limits. */
  constructor(host: SamplerHost, rollouts: number) {
    if (!Number.isInteger(rollouts) || rollouts < 1)
      throw new LabError(`a sampler for ${rollouts} rollouts`, {
        where: 'sampler(rollouts)',
        remedy: 'give a whole number ≥ 1',
      });
    const { device, shape } = host;
    this.#host = host;
    this.rollouts = rollouts;
    this.#slab = Math.max(SLAB, rollouts);
    this.#memory = new Memory(device.gpu, 'the sampler');
    try {
      this.#buffers = createSamplerBuffers(this.#memory, shape, rollouts, this.#slab);
    } catch (error) {
      this.#memory.destroy();
      throw error;
    }
    this.#plans = createSamplerPlans(device, this.#memory, { ...host, buffers: this.#buffers, rollouts });
    // A kernel that does not compile shows at `turn`.
    this.#plans.catch(() => undefined);
    this.#cached = new Int32Array(rollouts);
    this.#waiting = Array.from({ length: rollouts }, () => []);
  }

  /** Bytes of device memory. */
  get bytes(): number {
    return this.#memory.bytes;
  }

  reset(): void {
    this.#cached.fill(0);
    this.#waiting = this.#waiting.map(() => []);
  }

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<number[][]> {
    this.#check(inputs, options);
    await this.#memory.settled();
    const plans = await this.#plans;
    this.#host.live();
    const queue = this.#host.device.gpu.queue;
    const newest: Row[] = [];
    const forced: Row[] = [];
    for (const [rollout, input] of inputs.entries()) {
      if (input === null) continue;
      const tokens = [...this.#waiting[rollout]!, ...input];
      const from = this.#cached[rollout]!;
      const rows = tokens.map((token, i) => ({ rollout, position: from + i, token }));
      // The last forced token is decoded as the first step of sampling, whose logits it gives.
      newest.push(rows.pop()!);
      forced.push(...rows);
      this.#cached[rollout] = from + rows.length;
      this.#waiting[rollout] = [tokens.at(-1)!];
    }
    for (let at = 0; at < forced.length; at += this.#slab) {
      const rows = forced.slice(at, at + this.#slab);
      this.#fill(this.#buffers.prompt, rows);
      this.#submit((pass) => plans.prefill.encode(pass, { n: rows.length }));
    }
    if (options.limit === 0 || newest.length === 0) return inputs.map(() => []);
    this.#fill(this.#buffers.newest, newest);
    const turn = new Uint32Array([options.stop, options.limit, options.seed, 0]);
    new Float32Array(turn.buffer)[3] = options.temperature;
    queue.writeBuffer(this.#buffers.turn, 0, turn);
    const bytes = options.limit * this.rollouts * 4;
    for (let step = 0; step < options.limit; step += STEPS) {
      const count = Math.min(STEPS, options.limit - step);
      this.#submit(
        (pass) => {
          for (let i = 0; i < count; i++) plans.step.encode(pass, { n: newest.length });
        },
        step === 0 ? bytes : 0,
      );
    }
    const sampled = new Uint32Array(await readBuffer(this.#host.device.gpu, this.#buffers.sampled, bytes));
    return this.#collect(sampled, inputs);
  }

  destroy(): void {
    this.#destroyed = true;
    this.#memory.destroy();
    this.#host.closed(this);
  }

  /** Sampled tokens by rollout, and what of them enters the cache later: the steps cached all but the last. */
  #collect(sampled: Uint32Array, inputs: readonly (readonly number[] | null)[]): number[][] {
    return inputs.map((input, rollout) => {
      const tokens: number[] = [];
      for (let at = rollout; at < sampled.length && sampled[at]! > 0; at += this.rollouts)
        tokens.push(sampled[at]! - 1);
      if (input === null) return [];
      this.#cached[rollout] = this.#cached[rollout]! + tokens.length;
      this.#waiting[rollout] = [tokens.at(-1)!];
      return tokens;
    });
  }

  #fill(list: RowList, rows: readonly Row[]): void {
    const queue = this.#host.device.gpu.queue;
    queue.writeBuffer(list.dims, 0, new Uint32Array([rows.length, 0, 0, 0]));
    queue.writeBuffer(
      list.rollouts,
      0,
      Uint32Array.from(rows, (row) => row.rollout),
    );
    queue.writeBuffer(
      list.positions,
      0,
      Uint32Array.from(rows, (row) => row.position),
    );
    queue.writeBuffer(
      list.tokens,
      0,
      Uint32Array.from(rows, (row) => row.token),
    );
  }

  /** One command buffer; `clear` bytes of the sampled tokens become 0 first. */
  #submit(encode: (pass: GPUComputePassEncoder) => void, clear = 0): void {
    const gpu = this.#host.device.gpu;
    const encoder = gpu.createCommandEncoder();
    if (clear > 0) encoder.clearBuffer(this.#buffers.sampled, 0, clear);
    const pass = encoder.beginComputePass();
    encode(pass);
    pass.end();
    gpu.queue.submit([encoder.finish()]);
  }

  #check(inputs: readonly (readonly number[] | null)[], options: TurnOptions): void {
    this.#host.live();
    if (this.#destroyed)
      throw new LabError('the sampler was destroyed', {
        where: 'sampler.turn',
        remedy: 'ask the policy for a new one',
      });
    const held = Array.from(this.#cached, (count, r) => count + this.#waiting[r]!.length);
    checkTurn(inputs, options, held, this.#host.shape);
  }
}
