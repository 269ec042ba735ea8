import { LabError } from '../../base/errors.ts';
import type { SampledTurn, Sampler, TurnOptions } from '../engine.ts';
import { upRows } from '../layout.ts';
import { checkSampled, checkTurn } from '../turn.ts';
import { type Drawn, draw } from '../twin/sample.ts';
import { TruncatedRow } from '../twin/truncate.ts';
import { type Address, matmulNt } from './kernels.ts';
import type { Machine } from './machine.ts';
import type { Block } from './memory.ts';
import { activate } from './model.ts';
import { logitRows, rounded } from './workspace.ts';

/** Rows that go through the layers at a time; longer prompts go in several runs. */
const ROWS = 256;

/**
 * Decodes rollouts with a key/value cache in float32. It reads the weights of the moment: after an update the cache holds
 * keys of old weights until `reset`.
 */
export class WasmSampler implements Sampler {
  readonly rollouts: number;
  readonly #machine: () => Machine;
  /** Keys and values of one layer each; see kernels/decode.ts. */
  #caches: Block<'keys' | 'values'>[] = [];
  readonly #scratch: ReturnType<typeof allocateScratch>;
  readonly #row: TruncatedRow;
  /** Tokens of each rollout in the cache. */
  readonly #lengths: Int32Array;
  /** The last sampled token of each rollout, which enters the cache with the next input; −1 = none. */
  readonly #pending: Int32Array;
  /** Each rollout's state of the grammar in this turn. */
  readonly #states: Int32Array;
  readonly #queue = { ...queueArrays(), count: 0 };

  /**
   * @param machine gives the policy; throws once the engine is destroyed.
   * @throws LabError on a count that is no whole number ≥ 1, or where the memory does not hold the caches.
   */
  constructor(machine: () => Machine, rollouts: number) {
    if (!Number.isInteger(rollouts) || rollouts < 1)
      throw new LabError(`a sampler for ${rollouts} rollouts`, {
        where: 'sampler(rollouts)',
        remedy: 'give a whole number ≥ 1',
      });
    this.rollouts = rollouts;
    this.#machine = machine;
    this.#scratch = allocateScratch(machine(), rollouts);
    this.#row = new TruncatedRow(machine().shape.vocab);
    this.#lengths = new Int32Array(rollouts);
    this.#pending = new Int32Array(rollouts).fill(-1);
    this.#states = new Int32Array(rollouts);
    try {
      for (let l = 0; l < machine().shape.layers; l++) this.#caches.push(allocateCache(machine(), rollouts));
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  reset(): void {
    this.#lengths.fill(0);
    this.#pending.fill(-1);
  }

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]> {
    const machine = this.#check(inputs, options);
    const sampled: SampledTurn[] = inputs.map(() => ({ tokens: [], logProbs: [] }));
    this.#states.fill(0);
    let active: number[] = [];
    for (const [rollout, input] of inputs.entries()) {
      if (input === null) continue;
      this.#flushPending(machine, rollout);
      for (const token of input) this.#append(machine, rollout, token);
      active.push(rollout);
    }
    this.#run(machine);
    for (let count = 0; count < options.limit && active.length > 0; count++) {
      for (const rollout of active) this.#flushPending(machine, rollout);
      this.#run(machine);
      const drawn = this.#draw(machine, active, options);
      active = active.filter((rollout, i) => {
        const { token, logProb } = drawn[i]!;
        sampled[rollout]!.tokens.push(token);
        sampled[rollout]!.logProbs.push(logProb);
        this.#pending[rollout] = token;
        return token !== options.stop;
      });
    }
    checkSampled(sampled);
    return sampled;
  }

  destroy(): void {
    for (const cache of this.#caches) cache.free();
    this.#scratch.free();
    this.#caches = [];
  }

  #check(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Machine {
    if (this.#caches.length === 0)
      throw new LabError('the sampler was destroyed', {
        where: 'sampler.turn',
        remedy: 'ask the policy for a new one',
      });
    const machine = this.#machine();
    const held = Array.from(this.#lengths, (length, r) => length + (this.#pending[r]! < 0 ? 0 : 1));
    checkTurn(inputs, options, held, machine.shape);
    return machine;
  }

  #flushPending(machine: Machine, rollout: number): void {
    const token = this.#pending[rollout]!;
    if (token < 0) return;
    this.#pending[rollout] = -1;
    this.#append(machine, rollout, token);
  }

  /** Queues one token; a full queue runs. */
  #append(machine: Machine, rollout: number, token: number): void {
    const queue = this.#queue;
    queue.tokens[queue.count] = token;
    queue.rollouts[queue.count] = rollout;
    queue.positions[queue.count] = this.#lengths[rollout]!;
    queue.count++;
    this.#lengths[rollout] = this.#lengths[rollout]! + 1;
    if (queue.count === ROWS) this.#run(machine);
  }

  /** Takes the queued tokens through the layers and into the cache. */
  #run(machine: Machine): void {
    const { kernels, shape, headWidth, weights, memory, at: policy } = machine;
    const { width: d, heads, hidden, context } = shape;
    const { at } = this.#scratch;
    const n = this.#queue.count;
    if (n === 0) return;
    for (const name of ['tokens', 'rollouts', 'positions'] as const)
      memory.ids(at[name], n).set(this.#queue[name].subarray(0, n));
    kernels.gatherRows(at.tokens, weights.embed, at.x, n, d);
    for (const [l, w] of weights.layers.entries()) {
      const { keys, values } = this.#caches[l]!.at;
      const size = [n, heads, headWidth, context] as const;
      kernels.rmsNorm(at.x, w.norm1, at.h, n, d);
      matmulNt(kernels, { a: at.h, b: w.qkv, c: at.qkv, n, m: 3 * d, k: d });
      kernels.rotary(at.qkv, at.positions, policy.turns, n, heads, headWidth, 1);
      kernels.storeKeyValue(at.qkv, at.rollouts, at.positions, keys, values, ...size);
      kernels.decodeAttention(at.qkv, at.rollouts, at.positions, keys, values, at.scores, at.o, ...size);
      matmulNt(kernels, { a: at.o, b: w.out, c: at.x, addend: at.x, n, m: d, k: d });
      kernels.rmsNorm(at.x, w.norm2, at.h, n, d);
      matmulNt(kernels, { a: at.h, b: w.up, c: at.up, n, m: upRows(shape), k: d });
      activate(machine, at.up, at.act, n);
      matmulNt(kernels, { a: at.act, b: w.down, c: at.x, addend: at.x, n, m: d, k: hidden });
    }
    kernels.rmsNorm(at.x, weights.norm, at.h, n, d);
    // In order of the queue: of several tokens of one rollout the last one stays.
    kernels.scatterRows(at.rollouts, at.h, at.newest, n, d);
    this.#queue.count = 0;
  }

  /** One token for each of the `active` rollouts, from the logits after its newest token. */
  #draw(machine: Machine, active: readonly number[], options: TurnOptions): Drawn[] {
    const { kernels, shape, weights, memory } = machine;
    const { width: d, vocab } = shape;
    const { at } = this.#scratch;
    const block = logitRows(vocab);
    const stride = rounded(vocab);
    const drawn: Drawn[] = [];
    for (let first = 0; first < active.length; first += block) {
      const some = active.slice(first, first + block);
      memory.ids(at.chosen, some.length).set(some);
      kernels.gatherRows(at.chosen, at.newest, at.picked, some.length, d);
      const c: Address = at.logits;
      kernels.product(at.picked, d, false, weights.embed, d, false, c, stride, 0, some.length, vocab, d);
      for (const [i, rollout] of some.entries())
        drawn.push(this.#drawOne(memory.reals(c + 4 * i * stride, vocab), rollout, options));
    }
    return drawn;
  }

  #drawOne(logits: Float32Array, rollout: number, options: TurnOptions): Drawn {
    const { seed, grammar } = options;
    const state = this.#states[rollout]!;
    const row = this.#row.read(logits, 0, options, state);
    const drawn = draw(row, { seed, rollout, position: this.#lengths[rollout]! });
    if (grammar)
      this.#states[rollout] = grammar.next[state * grammar.classCount + grammar.classes[drawn.token]!]!;
    return drawn;
  }
}

function queueArrays() {
  const ids = () => new Int32Array(ROWS);
  return { tokens: ids(), rollouts: ids(), positions: ids() };
}

const purpose = (rollouts: number) => ({
  what: `a sampler for ${rollouts} rollouts`,
  remedy: 'lower the rollouts, the context or the layers',
});

function allocateScratch({ memory, shape }: Machine, rollouts: number) {
  const { width, hidden, vocab, context } = shape;
  return memory.allocate(
    {
      tokens: ROWS,
      rollouts: ROWS,
      positions: ROWS,
      x: ROWS * width,
      h: ROWS * width,
      qkv: ROWS * 3 * width,
      o: ROWS * width,
      up: ROWS * upRows(shape),
      act: ROWS * hidden,
      scores: rounded(context),
      /** Last norm's output of the newest token of each rollout [R, D]. */
      newest: rollouts * width,
      /** The same of some rollouts that are drawn for, and their logits. */
      chosen: logitRows(vocab),
      picked: logitRows(vocab) * width,
      logits: logitRows(vocab) * rounded(vocab),
    },
    purpose(rollouts),
  );
}

function allocateCache({ memory, shape, headWidth }: Machine, rollouts: number) {
  const positions = rollouts * shape.heads * rounded(shape.context);
  return memory.allocate(
    { keys: positions * headWidth, values: positions * rounded(headWidth) },
    purpose(rollouts),
  );
}
