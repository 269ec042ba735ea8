import type { Decoder, NewRows } from '../cpuSampler.ts';
import type { PolicyShape } from '../engine.ts';
import { upRows } from '../layout.ts';
import { decodeAttention, storeKeyValue } from './decode.ts';
import { embedGather } from './embed.ts';
import { matmulNt } from './matmul.ts';
import { activate } from './model.ts';
import { rmsNorm } from './norm.ts';
import { rotary } from './rotary.ts';
import type { Weights } from './weights.ts';

const ROWS = 128;

/** Decodes on the twins. */
export class TwinDecoder implements Decoder {
  readonly shape: PolicyShape;
  readonly rows = ROWS;
  readonly #weights: () => Weights;
  /** One [R, C, D] pair a layer. */
  #caches: { keys: Float64Array; values: Float64Array }[];
  readonly #scratch;

  /** @param weights gives the current weights; throws once the engine is destroyed. */
  constructor(shape: PolicyShape, weights: () => Weights, rollouts: number) {
    const { width, hidden, vocab } = shape;
    const reals = (count: number) => new Float64Array(count);
    const cache = rollouts * shape.context * width;
    this.shape = shape;
    this.#weights = weights;
    this.#caches = Array.from({ length: shape.layers }, () => ({ keys: reals(cache), values: reals(cache) }));
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
  }

  append({ tokens, rollouts, positions, count: n }: NewRows): void {
    const weights = this.#weights();
    const { width: d, heads, hidden, context } = this.shape;
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
      matmulNt(h, w.up, up, { n, m: upRows(this.shape), k: d });
      activate(this.shape, up, act, n);
      matmulNt(act, w.down, x, { n, m: d, k: hidden }, true);
    }
    rmsNorm(x, weights.norm, h, { n, d });
    for (let row = 0; row < n; row++) newest.set(h.subarray(row * d, row * d + d), rollouts[row]! * d);
  }

  logits(
    rollouts: readonly number[],
    visit: (rollout: number, logits: Float64Array, from: number) => void,
  ): void {
    const { width: k, vocab } = this.shape;
    const { newest, chosen, logits } = this.#scratch;
    for (const [i, rollout] of rollouts.entries())
      chosen.set(newest.subarray(rollout * k, rollout * k + k), i * k);
    matmulNt(chosen, this.#weights().embed, logits, { n: rollouts.length, m: vocab, k });
    for (const [i, rollout] of rollouts.entries()) visit(rollout, logits, i * vocab);
  }

  free(): void {
    this.#caches = [];
  }
}
