import { LabError } from '../../base/errors.ts';
import type { LabDevice } from '../../gpu/device.ts';
import type { Products } from '../../gpu/matmul.ts';
import { Memory } from '../../gpu/memory.ts';
import type { Plan } from '../../gpu/plan.ts';
import { readBuffer } from '../../gpu/read.ts';
import type { PolicyShape, SampledTurn, Sampler, TurnOptions } from '../engine.ts';
import { checkSampled, checkTurn } from '../turn.ts';
import { GrammarBuffer, turnWords } from './grammarBuffer.ts';
import type { ParameterBuffers } from './parameters.ts';
import { type DispatchTime, profilePlans } from './profile.ts';
import {
  createDrawPlan,
  createSamplerBuffers,
  createSamplerPlans,
  type RowList,
  type SamplerBuffers,
  type SamplerStage,
  slabOf,
} from './samplerPlans.ts';

/** Steps in one submit: bounds the time that a slow device works without giving way. */
const STEPS = 8;

/** What a sampler borrows of its engine. */
export interface SamplerHost {
  device: LabDevice;
  shape: PolicyShape;
  products: Products;
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
  readonly #stage: SamplerStage;
  readonly #plans;
  readonly #grammar: GrammarBuffer;
  /** Plans of the draw by what they cut, and by the size of the grammar's buffer that they bind. */
  readonly #draws = new Map<string, Promise<Plan>>();
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
    this.#slab = slabOf(rollouts);
    this.#memory = new Memory(device.gpu, 'the sampler');
    try {
      this.#buffers = createSamplerBuffers(this.#memory, shape, rollouts, this.#slab);
    } catch (error) {
      this.#memory.destroy();
      throw error;
    }
    const { software } = device.report;
    this.#stage = { ...host, software, buffers: this.#buffers, rollouts };
    this.#grammar = new GrammarBuffer(device.gpu, this.#memory);
    this.#plans = createSamplerPlans(device, this.#memory, this.#stage);
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

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]> {
    this.#check(inputs, options);
    const [plans, draw] = await Promise.all([this.#plans, this.#drawPlan(options)]);
    await this.#memory.settled();
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
    if (options.limit === 0 || newest.length === 0) return inputs.map(() => ({ tokens: [], logProbs: [] }));
    this.#fill(this.#buffers.newest, newest);
    if (options.grammar) this.#grammar.upload(options.grammar);
    queue.writeBuffer(this.#buffers.turn, 0, turnWords(options, options));
    const bytes = options.limit * this.rollouts * 8;
    for (let step = 0; step < options.limit; step += STEPS) {
      const count = Math.min(STEPS, options.limit - step);
      this.#submit(
        (pass) => {
          for (let i = 0; i < count; i++)
            for (const plan of [plans.step, draw]) plan.encode(pass, { n: newest.length });
        },
        step === 0 ? bytes : 0,
      );
    }
    return this.#collect(await readBuffer(this.#host.device.gpu, this.#buffers.sampled, bytes), inputs);
  }

  /**
   * Milliseconds of each dispatch of a step in which every rollout has `length` tokens before its newest, each by itself,
   * `repeats` in one submit. For benchmarks: the sampler is reset afterwards.
   */
  async profile(length: number, options: TurnOptions, repeats: number): Promise<DispatchTime[]> {
    const inputs = Array.from({ length: this.rollouts }, () => new Array<number>(length + 1).fill(0));
    this.reset();
    await this.turn(inputs, { ...options, limit: 0 });
    const plans = [(await this.#plans).step, await this.#drawPlan(options)];
    const rows = inputs.map((_, rollout) => ({ rollout, position: length, token: 0 }));
    this.#fill(this.#buffers.newest, rows);
    // A turn that may go on for ever keeps every row.
    const turn = turnWords(options, { stop: this.#host.shape.vocab, limit: 2 ** 31, seed: options.seed });
    this.#host.device.gpu.queue.writeBuffer(this.#buffers.turn, 0, turn);
    if (options.grammar) this.#grammar.upload(options.grammar);
    const times = await profilePlans(this.#host.device.gpu, plans, { n: this.rollouts }, repeats);
    this.reset();
    return times;
  }

  destroy(): void {
    this.#destroyed = true;
    this.#memory.destroy();
    this.#host.closed(this);
  }

  /** What each rollout said, and what of it enters the cache later: the steps cached all tokens but the last. */
  #collect(sampled: ArrayBuffer, inputs: readonly (readonly number[] | null)[]): SampledTurn[] {
    const words = new Uint32Array(sampled);
    const reals = new Float32Array(sampled);
    const turns = inputs.map((input, rollout) => {
      const said: SampledTurn = { tokens: [], logProbs: [] };
      for (let at = 2 * rollout; at < words.length && words[at]! > 0; at += 2 * this.rollouts) {
        said.tokens.push(words[at]! - 1);
        said.logProbs.push(reals[at + 1]!);
      }
      if (input !== null) {
        this.#cached[rollout] = this.#cached[rollout]! + said.tokens.length;
        this.#waiting[rollout] = [said.tokens.at(-1)!];
      }
      return said;
    });
    checkSampled(turns);
    return turns;
  }

  /** The draw that a truncation asks for; a grammar finds its buffer large enough. */
  #drawPlan({ topP = 1, grammar }: TurnOptions): Promise<Plan> {
    const buffer = grammar ? this.#grammar.reserve(grammar) : null;
    const key = `${topP < 1} ${buffer?.size ?? 0}`;
    let plan = this.#draws.get(key);
    if (!plan) {
      plan = createDrawPlan(this.#host.device, this.#memory, this.#stage, topP < 1, buffer);
      this.#draws.set(key, plan);
      // A failed compilation (a lost device) must not be remembered.
      plan.catch(() => this.#draws.delete(key));
    }
    return plan;
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

  /** One command buffer; `clear` bytes of the sampled tokens, and the states of the grammar, become 0 first. */
  #submit(encode: (pass: GPUComputePassEncoder) => void, clear = 0): void {
    const gpu = this.#host.device.gpu;
    const encoder = gpu.createCommandEncoder();
    if (clear > 0) {
      encoder.clearBuffer(this.#buffers.sampled, 0, clear);
      encoder.clearBuffer(this.#buffers.states);
    }
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
