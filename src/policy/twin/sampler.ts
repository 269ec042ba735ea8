import { LabError } from '../../base/errors.ts';
import type { PolicyShape, SampledTurn, Sampler, TurnOptions } from '../engine.ts';
import { upRows } from '../layout.ts';
import { checkSampled, checkTurn } from '../turn.ts';
import { decodeAttention, storeKeyValue } from './decode.ts';
import { embedGather } from './embed.ts';
import { matmulNt } from './matmul.ts';
import { activate } from './model.ts';
import { rmsNorm } from './norm.ts';
import { rotary } from './rotary.ts';
import { type Drawn, draw } from './sample.ts';
import { TruncatedRow } from './truncate.ts';
import type { Weights } from './weights.ts';

/** Rows that go through the layers at a time; longer prompts go in several runs. */
const ROWS = 128;

/**
 * Decodes rollouts on the twins with a key/value cache. It reads the weights of the moment: after an update the cache
 * holds keys of old weights until `reset`.
 */
export class TwinSampler implements Sampler {
  readonly rollouts: number;
  readonly #shape: PolicyShape;
  readonly #weights: () => Weights;
  /** One [R, C, D] pair a layer. */
  #caches: { keys: Float64Array; values: Float64Array }[];
  /** Tokens of each rollout in the cache. */
  readonly #lengths: Int32Array;
  /** The last sampled token of each rollout, which enters the cache with the next input; −1 = none. */
  readonly #pending: Int32Array;
  /** State of the grammar of each rollout. */
  readonly #states: Int32Array;
  readonly #row: TruncatedRow;
  readonly #scratch;
  readonly #queue: { tokens: Int32Array; rollouts: Int32Array; positions: Int32Array; count: number };

  /** @param weights gives the current weights; throws once the engine is destroyed. */
  constructor(shape: PolicyShape, weights: () => Weights, rollouts: number) {
    if (!Number.isInteger(rollouts) || rollouts < 1)
      throw new LabError(`a sampler for ${rollouts} rollouts`, {
        where: 'sampler(rollouts)',
        remedy: 'give a whole number ≥ 1',
      });
    this.rollouts = rollouts;
    this.#shape = shape;
    this.#weights = weights;
    const { width, hidden, vocab } = shape;
    const reals = (count: number) => new Float64Array(count);
    const cache = rollouts * shape.context * width;
    this.#caches = Array.from({ length: shape.layers }, () => ({ keys: reals(cache), values: reals(cache) }));
    this.#lengths = new Int32Array(rollouts);
    this.#pending = new Int32Array(rollouts).fill(-1);
    this.#states = new Int32Array(rollouts);
    this.#row = new TruncatedRow(vocab);
    this.#scratch = {
      x: reals(ROWS * width),
      h: reals(ROWS * width),
      qkv: reals(ROWS * 3 * width),
      o: reals(ROWS * width),
      up: reals(ROWS * upRows(shape)),
      act: reals(ROWS * hidden),
      /** Last norm's output of the newest token of each rollout [R, D]. */
      newest: reals(rollouts * width),
      /** The same of the rollouts being sampled, and their logits. */
      chosen: reals(rollouts * width),
      logits: reals(rollouts * vocab),
    };
    const ids = () => new Int32Array(ROWS);
    this.#queue = { tokens: ids(), rollouts: ids(), positions: ids(), count: 0 };
  }

  reset(): void {
    this.#lengths.fill(0);
    this.#pending.fill(-1);
  }

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]> {
    this.#check(inputs, options);
    const weights = this.#weights();
    const sampled: SampledTurn[] = inputs.map(() => ({ tokens: [], logProbs: [] }));
    this.#states.fill(0);
    let active: number[] = [];
    for (const [rollout, input] of inputs.entries()) {
      if (input === null) continue;
      this.#flushPending(weights, rollout);
      for (const token of input) this.#append(weights, rollout, token);
      active.push(rollout);
    }
    this.#run(weights);
    for (let count = 0; count < options.limit && active.length > 0; count++) {
      for (const rollout of active) this.#flushPending(weights, rollout);
      this.#run(weights);
      const drawn = this.#draw(weights, active, options);
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
    this.#caches = [];
  }

  #check(inputs: readonly (readonly number[] | null)[], options: TurnOptions): void {
    if (this.#caches.length === 0)
      throw new LabError('the sampler was destroyed', {
        where: 'sampler.turn',
        remedy: 'ask the policy for a new one',
      });
    const held = Array.from(this.#lengths, (length, r) => length + (this.#pending[r]! < 0 ? 0 : 1));
    checkTurn(inputs, options, held, this.#shape);
  }

  #flushPending(weights: Weights, rollout: number): void {
    const token = this.#pending[rollout]!;
    if (token < 0) return;
    this.#pending[rollout] = -1;
    this.#append(weights, rollout, token);
  }

  /** Queues one token; a full queue runs. */
  #append(weights: Weights, rollout: number, token: number): void {
    const queue = this.#queue;
    queue.tokens[queue.count] = token;
    queue.rollouts[queue.count] = rollout;
    queue.positions[queue.count] = this.#lengths[rollout]!;
    queue.count++;
    this.#lengths[rollout] = this.#lengths[rollout]! + 1;
    if (queue.count === ROWS) this.#run(weights);
  }

  /** Takes the queued tokens through the layers and into the cache. */
  #run(weights: Weights): void {
    const { width: d, heads, hidden, context } = this.#shape;
    const { tokens, rollouts, positions, count: n } = this.#queue;
    const { x, h, qkv, o, up, act, newest } = this.#scratch;
    const size = { n, heads, headWidth: d / heads, context };
    embedGather(tokens, weights.embed, x, { n, d });
    for (const [l, w] of weights.layers.entries()) {
      const { keys, values } = this.#caches[l]!;
      rmsNorm(x, w.norm1, h, { n, d });
      matmulNt(h, w.qkv, qkv, { n, m: 3 * d, k: d });
      rotary(qkv, positions, size);
      storeKeyValue(qkv, rollouts, positions, keys, values, size);
      decodeAttention(qkv, rollouts, positions, keys, values, o, size);
      matmulNt(o, w.out, x, { n, m: d, k: d }, true);
      rmsNorm(x, w.norm2, h, { n, d });
      matmulNt(h, w.up, up, { n, m: upRows(this.#shape), k: d });
      activate(this.#shape, up, act, n);
      matmulNt(act, w.down, x, { n, m: d, k: hidden }, true);
    }
    rmsNorm(x, weights.norm, h, { n, d });
    for (let row = 0; row < n; row++) newest.set(h.subarray(row * d, row * d + d), rollouts[row]! * d);
    this.#queue.count = 0;
  }

  /** One token for each of the `active` rollouts, from the logits after its newest token. */
  #draw(weights: Weights, active: readonly number[], options: TurnOptions): Drawn[] {
    const { width: k, vocab } = this.#shape;
    const { newest, chosen, logits } = this.#scratch;
    const { seed, grammar } = options;
    for (const [i, rollout] of active.entries())
      chosen.set(newest.subarray(rollout * k, rollout * k + k), i * k);
    matmulNt(chosen, weights.embed, logits, { n: active.length, m: vocab, k });
    return active.map((rollout, i) => {
      const state = this.#states[rollout]!;
      const row = this.#row.read(logits, i * vocab, options, state);
      const drawn = draw(row, { seed, rollout, position: this.#lengths[rollout]! });
      if (grammar)
        this.#states[rollout] = grammar.next[state * grammar.classCount + grammar.classes[drawn.token]!]!;
      return drawn;
    });
  }
}
