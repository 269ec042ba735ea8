import type * as ort from 'onnxruntime-web';
import { LabError } from '../../base/errors.ts';
import { type CausalRoles, causalRoles, type ElementType, type IdInput } from './causal.ts';
import { type OnnxFile, readOnnx } from './file.ts';

/** What of ONNX Runtime Web is used; the caller loads the build that it wants. */
export type OnnxRuntime = Pick<typeof ort, 'InferenceSession' | 'Tensor'>;
/** Where a model is computed: on the processor, in WebAssembly, or on the graphics device. */
export type OnnxProvider = 'wasm' | 'webgpu';

/** Keys and values of what was read before, by input. */
export type OnnxCache = Record<string, ort.Tensor>;

/** One pass: B rows of S new columns behind P columns of the cache, all arrays row by row. */
export interface OnnxStep {
  batch: number;
  ids: Int32Array;
  /** 1 = a token, 0 = padding [B, P + S]. */
  mask: Uint8Array;
  /** Place of each new token in its sequence [B, S]. */
  positions: Int32Array;
}

export interface OnnxPass {
  /** [B, S, V] */
  logits: Float32Array;
  vocab: number;
  cache: OnnxCache;
}

/** A decoder-only language model in ONNX Runtime Web. */
export class OnnxLm {
  readonly file: OnnxFile;
  readonly roles: CausalRoles;
  readonly provider: OnnxProvider;
  readonly #runtime: OnnxRuntime;
  #session: ort.InferenceSession | null;

  private constructor(
    runtime: OnnxRuntime,
    session: ort.InferenceSession,
    about: { file: OnnxFile; roles: CausalRoles; provider: OnnxProvider },
  ) {
    this.#runtime = runtime;
    this.#session = session;
    this.file = about.file;
    this.roles = about.roles;
    this.provider = about.provider;
  }

  /**
   * Reads a file, decides the roles of its inputs and loads it.
   * @throws LabError where it is no ONNX model, no causal language model, needs other files, or is refused by the runtime.
   */
  static async open(runtime: OnnxRuntime, bytes: Uint8Array, provider: OnnxProvider): Promise<OnnxLm> {
    const file = readOnnx(bytes);
    if (file.external.length > 0)
      throw new LabError(`its weights lie in other files (${file.external.slice(0, 3).join(', ')})`, {
        where: 'the file',
        remedy: 'export it as one file: a model below 2 GB can be saved without external data',
      });
    const roles = causalRoles(file);
    const onDevice = Object.fromEntries(roles.cache.map(({ output }) => [output, 'gpu-buffer'] as const));
    let session: ort.InferenceSession;
    try {
      session = await runtime.InferenceSession.create(bytes, {
        executionProviders: [provider],
        // The runtime warns of every node that it places on the processor: a choice of its own, and no news.
        logSeverityLevel: 3,
        ...(provider === 'webgpu' && roles.cache.length > 0 ? { preferredOutputLocation: onDevice } : {}),
      });
    } catch (cause) {
      throw new LabError(`ONNX Runtime does not load it: ${reason(cause)}`, {
        where: `the file (opset ${file.opsets.get('') ?? 'unknown'})`,
        remedy: 'export it with a released opset (17 is safe) and standard operators',
        cause,
      });
    }
    return new OnnxLm(runtime, session, { file, roles, provider });
  }

  /** A cache that holds nothing, for B rows. */
  empty(batch: number): OnnxCache {
    return Object.fromEntries(
      this.roles.cache.map(({ input, type, dims }) => {
        const sizes = dims.map((dim) => (dim === 'batch' ? batch : dim === 'past' ? 0 : dim));
        const data = type === 'float16' ? new Uint16Array(0) : new Float32Array(0);
        return [input, new this.#runtime.Tensor(type as 'float32', data as Float32Array, sizes)];
      }),
    );
  }

  /**
   * Computes one pass. The cache that is given is used up: the one returned takes its place.
   * @throws LabError where the model fails on this input.
   */
  async run(step: OnnxStep, cache: OnnxCache = this.empty(step.batch)): Promise<OnnxPass> {
    const session = this.#live();
    const { ids, mask, positions, branch, keep, logits } = this.roles;
    const { batch } = step;
    const feeds: Record<string, ort.Tensor> = { ...cache, [ids.name]: this.#ids(ids, step.ids, batch) };
    if (mask) feeds[mask.name] = this.#ids(mask, step.mask, batch);
    if (positions) feeds[positions.name] = this.#ids(positions, step.positions, batch);
    if (keep) feeds[keep.name] = this.#ids(keep, Int32Array.of(0), null);
    const held = step.mask.length > step.ids.length;
    if (branch) feeds[branch] = new this.#runtime.Tensor('bool', [held], [1]);
    let out: ort.InferenceSession.OnnxValueMapType;
    try {
      out = await session.run(feeds);
    } catch (cause) {
      throw new LabError(`the model failed: ${reason(cause)}`, {
        where: `${batch} rows of ${step.ids.length / batch} tokens`,
        remedy: 'shorten the sequences, or export the model again',
        cause,
      });
    }
    for (const tensor of Object.values(cache)) tensor.dispose();
    const next = Object.fromEntries(
      this.roles.cache.map(({ input, output }) => [input, out[output] as ort.Tensor]),
    );
    const scores = out[logits.name] as ort.Tensor;
    const vocab = scores.dims.at(-1) ?? 0;
    if (scores.dims.length !== 3 || scores.dims[0] !== batch || scores.dims[1] !== step.ids.length / batch)
      throw new LabError(`logits of shape [${scores.dims.join(', ')}]`, {
        where: `${batch} rows of ${step.ids.length / batch} tokens`,
        remedy: 'export a model that gives the logits of every position',
      });
    return { logits: await asFloats(scores), vocab, cache: next };
  }

  /** Gives all memory of the model back. */
  async destroy(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await session?.release();
  }

  #live(): ort.InferenceSession {
    if (this.#session) return this.#session;
    throw new LabError('the model was destroyed', { where: 'onnx', remedy: 'load it again' });
  }

  #ids({ type }: IdInput, values: ArrayLike<number>, batch: number | null): ort.Tensor {
    const dims = batch === null ? [] : [batch, values.length / batch];
    return type === 'int64'
      ? new this.#runtime.Tensor('int64', BigInt64Array.from(values as number[], BigInt), dims)
      : new this.#runtime.Tensor('int32', Int32Array.from(values), dims);
  }
}

/** What a runtime says, without the places in its own source that stand before it. */
function reason(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const [first = ''] = text.replace(/^.*?ERROR_MESSAGE: /s, '').split('\n');
  return first.replace(/^\/\S+:\d+ [^)]*\) (const )?/, '').slice(0, 300);
}

async function asFloats(tensor: ort.Tensor): Promise<Float32Array> {
  const data = await tensor.getData();
  if (data instanceof Float32Array) return data;
  if ((tensor.type as ElementType) === 'float16' && data instanceof Uint16Array)
    return Float32Array.from(data, halfToFloat);
  return Float32Array.from(data as ArrayLike<number>);
}

/** A float16 from its bits (IEEE 754-2008, binary16). */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
