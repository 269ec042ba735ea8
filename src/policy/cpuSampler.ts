import { LabError } from '../base/errors.ts';
import type { PolicyShape, SampledTurn, Sampler, TurnOptions } from './engine.ts';
import { checkSampled, checkTurn } from './turn.ts';
import { type Drawn, draw } from './twin/sample.ts';
import { TruncatedRow } from './twin/truncate.ts';

/** New tokens of some rollouts, in order of position inside each; at most the decoder's `rows`. */
export interface NewRows {
  tokens: Int32Array;
  rollouts: Int32Array;
  positions: Int32Array;
  count: number;
  /** Rows that are the newest of their rollout: only they need to go past the last attention. */
  newest: readonly number[];
}

/** A model on the processor that decodes with a key/value cache. It reads the weights of the moment. */
export interface Decoder {
  readonly shape: PolicyShape;
  /** Rows that go through the layers at a time; longer prompts go in several runs. */
  readonly rows: number;
  /** Takes new tokens through the layers and into the cache. @throws LabError once the engine is destroyed. */
  append(rows: NewRows): void;
  /** Visits the logits of rollouts after their newest tokens: V numbers from `from` of an array that ends with the visit. */
  logits(
    rollouts: readonly number[],
    visit: (rollout: number, logits: Float32Array | Float64Array, from: number) => void,
  ): void;
  free(): void;
}

/**
 * Decodes rollouts on the processor: queues what is heard, takes it through the layers in blocks, and draws token by token
 * for the rollouts that go on. After an update of the weights the cache holds keys of old ones until `reset`.
 */
export class CpuSampler implements Sampler {
  readonly rollouts: number;
  readonly #row: TruncatedRow;
  /** Tokens of each rollout in the cache. */
  readonly #lengths: Int32Array;
  /** The last sampled token of each rollout, which enters the cache with the next input; −1 = none. */
  readonly #pending: Int32Array;
  /** Each rollout's state of the grammar in this turn. */
  readonly #states: Int32Array;
  readonly #queue: Omit<NewRows, 'newest'>;
  /** null once destroyed. */
  #decoder: Decoder | null;

  /**
   * @param open makes the decoder for so many rollouts.
   * @throws LabError on a count that is no whole number ≥ 1, or where `open` does.
   */
  constructor(rollouts: number, open: (rollouts: number) => Decoder) {
    if (!Number.isInteger(rollouts) || rollouts < 1)
      throw new LabError(`a sampler for ${rollouts} rollouts`, {
        where: 'sampler(rollouts)',
        remedy: 'give a whole number ≥ 1',
      });
    const decoder = open(rollouts);
    const ids = (count: number) => new Int32Array(count);
    this.rollouts = rollouts;
    this.#decoder = decoder;
    this.#row = new TruncatedRow(decoder.shape.vocab);
    this.#lengths = ids(rollouts);
    this.#pending = ids(rollouts).fill(-1);
    this.#states = ids(rollouts);
    const { rows } = decoder;
    this.#queue = { tokens: ids(rows), rollouts: ids(rows), positions: ids(rows), count: 0 };
  }

  reset(): void {
    this.#lengths.fill(0);
    this.#pending.fill(-1);
  }

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]> {
    const decoder = this.#check(inputs, options);
    const sampled: SampledTurn[] = inputs.map(() => ({ tokens: [], logProbs: [] }));
    this.#states.fill(0);
    let active: number[] = [];
    for (const [rollout, input] of inputs.entries()) {
      if (input === null) continue;
      this.#flushPending(decoder, rollout);
      for (const token of input) this.#append(decoder, rollout, token);
      active.push(rollout);
    }
    this.#run(decoder);
    for (let count = 0; count < options.limit && active.length > 0; count++) {
      for (const rollout of active) this.#flushPending(decoder, rollout);
      this.#run(decoder);
      const drawn = this.#draw(decoder, active, options);
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
    this.#decoder?.free();
    this.#decoder = null;
  }

  #check(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Decoder {
    if (this.#decoder === null)
      throw new LabError('the sampler was destroyed', {
        where: 'sampler.turn',
        remedy: 'ask the policy for a new one',
      });
    const held = Array.from(this.#lengths, (length, r) => length + (this.#pending[r]! < 0 ? 0 : 1));
    checkTurn(inputs, options, held, this.#decoder.shape);
    return this.#decoder;
  }

  #flushPending(decoder: Decoder, rollout: number): void {
    const token = this.#pending[rollout]!;
    if (token < 0) return;
    this.#pending[rollout] = -1;
    this.#append(decoder, rollout, token);
  }

  /** Queues one token; a full queue runs first. */
  #append(decoder: Decoder, rollout: number, token: number): void {
    const queue = this.#queue;
    if (queue.count === decoder.rows) this.#run(decoder);
    queue.tokens[queue.count] = token;
    queue.rollouts[queue.count] = rollout;
    queue.positions[queue.count] = this.#lengths[rollout]!;
    queue.count++;
    this.#lengths[rollout] = this.#lengths[rollout]! + 1;
  }

  #run(decoder: Decoder): void {
    const queue = this.#queue;
    if (queue.count === 0) return;
    const newest: number[] = [];
    for (let row = 0; row < queue.count; row++)
      if (queue.positions[row] === this.#lengths[queue.rollouts[row]!]! - 1) newest.push(row);
    decoder.append({ ...queue, newest });
    queue.count = 0;
  }

  /** One token for each of the `active` rollouts, from the logits after its newest token. */
  #draw(decoder: Decoder, active: readonly number[], options: TurnOptions): Drawn[] {
    const { seed, grammar } = options;
    const drawn: Drawn[] = [];
    decoder.logits(active, (rollout, logits, from) => {
      const state = this.#states[rollout]!;
      const row = this.#row.read(logits, from, options, state);
      const one = draw(row, { seed, rollout, position: this.#lengths[rollout]! });
      if (grammar)
        this.#states[rollout] = grammar.next[state * grammar.classCount + grammar.classes[one.token]!]!;
      drawn.push(one);
    });
    return drawn;
  }
}
