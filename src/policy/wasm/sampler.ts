import { LabError } from '../../base/errors.ts';
import type { SampledTurn, Sampler, TurnOptions } from '../engine.ts';
import { checkSampled, checkTurn } from '../turn.ts';
import { type Drawn, draw } from '../twin/sample.ts';
import { TruncatedRow } from '../twin/truncate.ts';
import { allocateCache, allocateScratch, append, type Cache, logitsOf, ROWS } from './decode.ts';
import type { Machine } from './machine.ts';

/**
 * Decodes rollouts with a key/value cache in float32. It reads the weights of the moment: after an update the cache holds
 * keys of old weights until `reset`.
 */
export class WasmSampler implements Sampler {
  readonly rollouts: number;
  readonly #machine: () => Machine;
  /** One a layer; empty once destroyed. */
  #caches: Cache[] = [];
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

  /** Queues one token; a full queue runs first. */
  #append(machine: Machine, rollout: number, token: number): void {
    const queue = this.#queue;
    if (queue.count === ROWS) this.#run(machine);
    queue.tokens[queue.count] = token;
    queue.rollouts[queue.count] = rollout;
    queue.positions[queue.count] = this.#lengths[rollout]!;
    queue.count++;
    this.#lengths[rollout] = this.#lengths[rollout]! + 1;
  }

  /** Takes the queued tokens through the layers and into the cache. */
  #run(machine: Machine): void {
    const queue = this.#queue;
    const newest: number[] = [];
    for (let row = 0; row < queue.count; row++)
      if (queue.positions[row] === this.#lengths[queue.rollouts[row]!]! - 1) newest.push(row);
    if (queue.count > 0) append(machine, this.#scratch.at, this.#caches, { ...queue, newest });
    queue.count = 0;
  }

  /** One token for each of the `active` rollouts, from the logits after its newest token. */
  #draw(machine: Machine, active: readonly number[], options: TurnOptions): Drawn[] {
    const { seed, grammar } = options;
    const drawn: Drawn[] = [];
    logitsOf(machine, this.#scratch.at, active, (rollout, logits, from) => {
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

function queueArrays() {
  const ids = () => new Int32Array(ROWS);
  return { tokens: ids(), rollouts: ids(), positions: ids() };
}
