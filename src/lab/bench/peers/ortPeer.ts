import type { PolicyShape } from '../../../policy/engine.ts';
import { exportOnnx } from '../../../policy/onnx/export.ts';
import { type OnnxCache, OnnxLm, type OnnxProvider, type OnnxRuntime } from '../../../policy/onnx/lm.ts';
import type { TurnLoad } from '../student.ts';
import { type Peer, type Same, type SamplingPeer, VERSIONS } from './peer.ts';

/** Loads a build of ONNX Runtime Web; page and command line find its files in different places. */
export type LoadRuntime = (provider: OnnxProvider) => Promise<OnnxRuntime>;

/** ONNX Runtime Web. Its WebAssembly works on one thread, as the lab's own CPU engine does. */
export async function loadOrt(provider: OnnxProvider, loadRuntime: LoadRuntime): Promise<Peer> {
  const runtime = await loadRuntime(provider);
  return {
    name: 'ort',
    version: VERSIONS.ort,
    backend: provider,
    sampling: (same, load) => samplingPeer(runtime, provider, same, load),
  };
}

/**
 * Samples from our own export with its key/value cache, token by token: one call an appended token. On WebGPU the cache
 * stays on the device from call to call; only logits come back, and the host draws from them.
 */
async function samplingPeer(
  runtime: OnnxRuntime,
  provider: OnnxProvider,
  { shape, parameters }: Same,
  { prompts, limit }: TurnLoad,
): Promise<SamplingPeer> {
  const zeros = new Float32Array(parameters.length);
  const checkpoint = { shape, step: 0, parameters, moment1: zeros, moment2: zeros };
  const model = await OnnxLm.open(runtime, exportOnnx(checkpoint, { cache: true }), provider);
  const draw = counterDraw(shape.vocab);
  const turn = async (rows: number[][]) => {
    const rollouts = new Rollouts(model, shape, rows.length);
    try {
      let drawn = draw(await rollouts.append(rows));
      for (let i = 1; i < limit; i++) drawn = draw(await rollouts.append(drawn.map((token) => [token])));
      return drawn.length * limit;
    } finally {
      rollouts.dispose();
    }
  };
  return {
    async logits() {
      const rollouts = new Rollouts(model, shape, 1);
      try {
        return await rollouts.append(prompts.slice(0, 1));
      } finally {
        rollouts.dispose();
      }
    },
    together: () => turn(prompts),
    alone: () => turn(prompts.slice(0, 1)),
    destroy: () => void model.destroy(),
  };
}

/** Rollouts of equal length that grow together. */
class Rollouts {
  readonly #model: OnnxLm;
  readonly #vocab: number;
  readonly #batch: number;
  #cache: OnnxCache;
  #length = 0;

  constructor(model: OnnxLm, { vocab }: PolicyShape, batch: number) {
    this.#model = model;
    this.#vocab = vocab;
    this.#batch = batch;
    this.#cache = model.empty(batch);
  }

  /** Appends as many tokens to every rollout. @returns the logits after the last of them [R, V] */
  async append(rows: number[][]): Promise<Float32Array> {
    const batch = this.#batch;
    const length = rows[0]!.length;
    const { logits, cache } = await this.#model.run(
      {
        batch,
        ids: Int32Array.from(rows.flat()),
        mask: new Uint8Array(batch * (this.#length + length)).fill(1),
        positions: Int32Array.from({ length: batch * length }, (_, at) => this.#length + (at % length)),
      },
      this.#cache,
    );
    this.#cache = cache;
    this.#length += length;
    if (length === 1) return logits;
    const last = new Float32Array(batch * this.#vocab);
    for (let r = 0; r < batch; r++) {
      const end = (r + 1) * length * this.#vocab;
      last.set(logits.subarray(end - this.#vocab, end), r * this.#vocab);
    }
    return last;
  }

  dispose(): void {
    for (const tensor of Object.values(this.#cache)) tensor.dispose();
  }
}

/** Draws a token from each row of logits at temperature 1, keyed by a counter so that runs repeat. */
function counterDraw(vocab: number): (logits: Float32Array) => number[] {
  let counter = 0;
  return (logits) =>
    Array.from({ length: logits.length / vocab }, (_, row) => {
      const z = logits.subarray(row * vocab, (row + 1) * vocab);
      let most = Number.NEGATIVE_INFINITY;
      for (const value of z) most = Math.max(most, value);
      let sum = 0;
      for (const value of z) sum += Math.exp(value - most);
      // Knuth's linear congruential generator: the draw must be cheap, not good.
      counter = (Math.imul(counter, 1664525) + 1013904223) >>> 0;
      let left = (counter / 2 ** 32) * sum;
      for (let token = 0; token < vocab; token++) {
        left -= Math.exp(z[token]! - most);
        if (left < 0) return token;
      }
      return vocab - 1;
    });
}
