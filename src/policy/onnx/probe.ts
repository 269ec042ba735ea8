import { LabError } from '../../base/errors.ts';
import type { OnnxLm } from './lm.ts';

/** Tokens of the probe. */
const LENGTH = 6;
/** Two computations of one logit may differ by this share of the spread of the logits: float16 and quantised weights too. */
const TOLERANCE = 0.02;

/**
 * Proves on the model what no file says for certain: that a token's logits depend on nothing after it, padding included.
 * One pass over two rows that agree in all but their last tokens; one of them is padded.
 * @param ids count of ids that may be given.
 * @returns V, entries of a row of logits.
 * @throws LabError where the model looks ahead (an encoder), gives logits that are no numbers, or fails.
 */
export async function proveCausal(lm: OnnxLm, ids: number): Promise<number> {
  const first = Array.from({ length: LENGTH }, (_, i) => (i * 7 + 3) % ids);
  const shared = LENGTH - 2;
  const second = first.map((id, i) => (i < shared ? id : (id + 1) % ids));
  const places = Array.from({ length: LENGTH }, (_, i) => i);
  const mask = new Uint8Array(2 * LENGTH).fill(1);
  mask[2 * LENGTH - 1] = 0;
  const { logits, vocab, cache } = await lm.run({
    batch: 2,
    ids: Int32Array.from([...first, ...second]),
    mask,
    positions: Int32Array.from([...places, ...places]),
  });
  for (const tensor of Object.values(cache)) tensor.dispose();
  const other = LENGTH * vocab;
  let [least, most, apart] = [Infinity, -Infinity, 0];
  for (let i = 0; i < shared * vocab; i++) {
    const a = logits[i]!;
    if (!Number.isFinite(a))
      throw new LabError(`a logit is ${a}`, {
        where: `position ${Math.floor(i / vocab)}, id ${i % vocab}`,
        remedy: 'export it in float32, or choose an undamaged file',
      });
    least = Math.min(least, a);
    most = Math.max(most, a);
    apart = Math.max(apart, Math.abs(a - logits[other + i]!));
  }
  if (apart <= TOLERANCE * (most - least)) return vocab;
  throw new LabError(
    'logits change when a later token changes: it looks ahead, as encoders and masked language models do',
    { where: 'output logits', remedy: 'choose a decoder-only (causal) language model' },
  );
}
