import { LabError } from '../../base/errors.ts';
import { isObject, type Json } from '../../base/json.ts';
import { checkBatch } from '../batch.ts';
import type { PackedBatch, PolicyShape, Sampler } from '../engine.ts';
import { checkShape } from '../shape.ts';
import { ONNX_FORMAT } from './export.ts';
import type { OnnxFile } from './file.ts';
import { OnnxLm, type OnnxProvider, type OnnxRuntime } from './lm.ts';
import { OnnxSampler, type SamplerWatch } from './sampler.ts';
import { eachRow } from './sequences.ts';

/** A policy that `exportOnnx` wrote, played in ONNX Runtime: it can be asked, not trained. */
export interface OnnxPolicy {
  readonly shape: PolicyShape;
  readonly provider: OnnxProvider;
  /** Decodes with the file's cache. @throws LabError where the file has none. */
  sampler(rollouts: number, watch?: SamplerWatch): Sampler;
  /** Logits [N, V] in row-major order, all at once. @throws LabError on a malformed batch. */
  logits(batch: PackedBatch): Promise<Float32Array>;
  destroy(): Promise<void>;
}

/**
 * Loads a policy of the lab from its ONNX file.
 * @throws LabError where the file is damaged or none of the lab's.
 */
export async function openOnnxPolicy(
  runtime: OnnxRuntime,
  bytes: Uint8Array,
  provider: OnnxProvider,
): Promise<OnnxPolicy> {
  const lm = await OnnxLm.open(runtime, bytes, provider);
  const shape = policyShape(lm.file);
  if (!shape) {
    await lm.destroy();
    throw new LabError(`this is no policy of the lab (format “${ONNX_FORMAT}”)`, {
      where: 'metadata',
      remedy: 'export one from a run',
    });
  }
  return {
    shape,
    provider,
    sampler: (rollouts, watch) => {
      if (lm.roles.cache.length > 0) return new OnnxSampler(lm, shape, rollouts, watch);
      throw new LabError('the file has no inputs for keys and values', {
        where: 'inputs',
        remedy: 'export the policy with its cache',
      });
    },
    async logits(batch) {
      checkBatch(batch, shape, batch.tokens.length, { untrained: true });
      const out = new Float32Array(batch.tokens.length * shape.vocab);
      await eachRow(lm, batch, shape.vocab, (n, row) => out.set(row, n * shape.vocab));
      return out;
    },
    destroy: () => lm.destroy(),
  };
}

/** The shape that the file's metadata states; `null` where the file is none of the lab's. @throws LabError on a damaged one. */
export function policyShape({ metadata }: OnnxFile): PolicyShape | null {
  if (metadata.get('format') !== ONNX_FORMAT) return null;
  let shape: Json = null;
  try {
    shape = JSON.parse(metadata.get('shape') ?? '') as Json;
  } catch {
    // Told below, as every other shape that is none.
  }
  if (!isObject(shape))
    throw new LabError('the shape is no JSON object', {
      where: 'metadata.shape',
      remedy: 'export the policy again',
    });
  checkShape(shape as unknown as PolicyShape);
  return shape as unknown as PolicyShape;
}
