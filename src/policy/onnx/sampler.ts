import { LabError } from '../../base/errors.ts';
import type { PolicyShape, SampledTurn, Sampler, TurnOptions } from '../engine.ts';
import { checkTurn } from '../turn.ts';
import { draw } from '../twin/sample.ts';
import { TruncatedRow } from '../twin/truncate.ts';
import type { OnnxCache, OnnxLm } from './lm.ts';

/** Who wants to know what a sampler does while it does it. */
export interface SamplerWatch {
  /** Logits after a token that entered the cache, and the place of that token in its rollout. The row is not kept. */
  logits?(rollout: number, position: number, row: Float32Array): void;
  /** A sampled token. The sampler goes on when the promise resolves, and gives up where it rejects. */
  token?(rollout: number, token: number): void | Promise<void>;
}

/**
 * Decodes rollouts on an ONNX model with its key/value cache, drawing as the lab's own samplers do: equal logits give
 * equal tokens. Rollouts of ragged lengths share the columns of one batch; where a row has nothing to say it is padded,
 * masked out, and its positions don't count.
 */
export class OnnxSampler implements Sampler {
  readonly rollouts: number;
  readonly #lm: OnnxLm;
  readonly #shape: PolicyShape;
  readonly #watch: SamplerWatch;
  #cache: OnnxCache | null = null;
  /** Which columns of the cache hold a token, row by row. */
  #columns: number[][];
  readonly #lengths: Int32Array;
  /** The last sampled token of each rollout, which enters the cache with the next input; −1 = none. */
  readonly #pending: Int32Array;
  readonly #states: Int32Array;
  /** Logits after the newest token of each rollout [R, V]. */
  readonly #newest: Float32Array;
  readonly #row: TruncatedRow;
  #destroyed = false;

  /** @param rollouts how many at most. @throws LabError where that is no whole number ≥ 1. */
  constructor(lm: OnnxLm, shape: PolicyShape, rollouts: number, watch: SamplerWatch = {}) {
    if (!Number.isInteger(rollouts) || rollouts < 1)
      throw new LabError(`a sampler for ${rollouts} rollouts`, {
        where: 'sampler(rollouts)',
        remedy: 'give a whole number ≥ 1',
      });
    this.#lm = lm;
    this.#shape = shape;
    this.#watch = watch;
    this.rollouts = rollouts;
    this.#columns = Array.from({ length: rollouts }, () => []);
    this.#lengths = new Int32Array(rollouts);
    this.#pending = new Int32Array(rollouts).fill(-1);
    this.#states = new Int32Array(rollouts);
    this.#newest = new Float32Array(rollouts * shape.vocab);
    this.#row = new TruncatedRow(shape.vocab);
  }

  reset(): void {
    for (const tensor of Object.values(this.#cache ?? {})) tensor.dispose();
    this.#cache = null;
    this.#columns = this.#columns.map(() => []);
    this.#lengths.fill(0);
    this.#pending.fill(-1);
  }

  async turn(inputs: readonly (readonly number[] | null)[], options: TurnOptions): Promise<SampledTurn[]> {
    if (this.#destroyed)
      throw new LabError('the sampler was destroyed', {
        where: 'sampler.turn',
        remedy: 'ask the policy for a new one',
      });
    const held = Array.from(this.#lengths, (length, r) => length + (this.#pending[r]! < 0 ? 0 : 1));
    checkTurn(inputs, options, held, this.#shape);
    const sampled: SampledTurn[] = inputs.map(() => ({ tokens: [], logProbs: [] }));
    this.#states.fill(0);
    await this.#read(inputs.map((input, r) => (input === null ? [] : [...this.#takePending(r), ...input])));
    let active = inputs.flatMap((input, rollout) => (input === null ? [] : [rollout]));
    for (let count = 0; count < options.limit && active.length > 0; count++) {
      const going = new Set(active);
      await this.#read(inputs.map((_, r) => (going.has(r) ? this.#takePending(r) : [])));
      for (const rollout of active) await this.#draw(rollout, options, sampled[rollout]!);
      active = active.filter((rollout) => sampled[rollout]!.tokens.at(-1) !== options.stop);
    }
    return sampled;
  }

  destroy(): void {
    this.reset();
    this.#destroyed = true;
  }

  #takePending(rollout: number): number[] {
    const token = this.#pending[rollout]!;
    this.#pending[rollout] = -1;
    return token < 0 ? [] : [token];
  }

  async #draw(rollout: number, options: TurnOptions, said: SampledTurn): Promise<void> {
    const { seed, grammar } = options;
    const state = this.#states[rollout]!;
    const row = this.#row.read(this.#newest, rollout * this.#shape.vocab, options, state);
    const { token, logProb } = draw(row, { seed, rollout, position: this.#lengths[rollout]! });
    if (grammar) this.#states[rollout] = grammar.next[state * grammar.classCount + grammar.classes[token]!]!;
    said.tokens.push(token);
    said.logProbs.push(logProb);
    this.#pending[rollout] = token;
    await this.#watch.token?.(rollout, token);
  }

  /** Takes tokens into the cache, a list a rollout, in one pass: shorter lists are padded on the right. */
  async #read(lists: readonly (readonly number[])[]): Promise<void> {
    const width = Math.max(...lists.map((list) => list.length));
    if (width === 0) return;
    const { vocab } = this.#shape;
    const ids = new Int32Array(lists.length * width);
    const positions = new Int32Array(lists.length * width);
    for (const [r, list] of lists.entries())
      for (let i = 0; i < width; i++) {
        this.#columns[r]!.push(i < list.length ? 1 : 0);
        if (i >= list.length) continue;
        ids[r * width + i] = list[i]!;
        positions[r * width + i] = this.#lengths[r]! + i;
      }
    const mask = Uint8Array.from(this.#columns.flat());
    const step = { batch: lists.length, ids, mask, positions };
    const { logits, cache } = await this.#lm.run(step, this.#cache ?? undefined);
    this.#cache = cache;
    for (const [r, list] of lists.entries())
      for (let i = 0; i < list.length; i++) {
        const row = logits.subarray((r * width + i) * vocab, (r * width + i + 1) * vocab);
        this.#watch.logits?.(r, this.#lengths[r]! + i, row);
        if (i === list.length - 1) this.#newest.set(row, r * vocab);
      }
    for (const [r, list] of lists.entries()) this.#lengths[r] = this.#lengths[r]! + list.length;
  }
}
