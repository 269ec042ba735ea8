import * as ort from 'onnxruntime-web';
import { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { Checkpoint, PackedBatch, PolicyShape } from '../../../src/policy/engine.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';

ort.env.wasm.numThreads = 1;

export { ort };

/** Logits of the exported model and of an engine agree to this. */
export const LIMIT = 1e-4;

/** One of each kind of MLP, none with sizes that are powers of two. */
export const SHAPES: PolicyShape[] = [
  { vocab: 13, width: 16, layers: 2, heads: 2, hidden: 24, context: 20 },
  { vocab: 29, width: 24, layers: 3, heads: 2, hidden: 20, mlp: 'swiglu', context: 33 },
];
export const nameOf = (shape: PolicyShape): string => shape.mlp ?? 'gelu';

/** Sequences of ragged lengths, one of a single token and one as long as the context. */
export function sequences(seed: number, { vocab, context }: PolicyShape): number[][] {
  const rng = new Rng(seed);
  return [7, 1, context, 12].map((length) => Array.from({ length }, () => rng.int(vocab)));
}

/** Sequences for their logits alone. */
export const batchOf = (rows: readonly (readonly number[])[]): PackedBatch =>
  pack(rows.map((tokens) => ({ tokens, weights: tokens.map(() => 0) })));

/** Logits of a batch on the float64 twins [N, V]. */
export async function twinLogits(checkpoint: Checkpoint, batch: PackedBatch): Promise<Float32Array> {
  const engine = createCpuEngine(checkpoint.shape);
  engine.load(checkpoint);
  const logits = await engine.logits(batch);
  engine.destroy();
  return logits;
}

/** Largest difference; NaN where an entry is missing or is none. */
export function worst(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length || a.length === 0) return Number.NaN;
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i]! - b[i]!));
  return most;
}

/** Spread of the logits: what a difference is small against. */
export const spread = (a: Float32Array): number =>
  a.reduce((m, x) => Math.max(m, x), -Infinity) - a.reduce((m, x) => Math.min(m, x), Infinity);
