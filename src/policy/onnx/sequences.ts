import type { PackedBatch } from '../engine.ts';
import type { OnnxLm } from './lm.ts';

/** Sequences that lie one after another; what of a batch says which. */
export type Sequences = Pick<PackedBatch, 'tokens' | 'starts'>;

/** Most logits computed in one pass: 64 MiB of float32. */
const MOST_LOGITS = 1 << 24;

/**
 * Gives the rows of logits of a packed batch to `take`, position by position in order. Sequences are run side by side,
 * padded on the right, as many at a time as `MOST_LOGITS` allows (at least one).
 * @param vocab entries of a row, for the sizes of the passes.
 * @param take hears of position n and its row [V]; the row is not kept.
 */
export async function eachRow(
  lm: OnnxLm,
  { tokens, starts }: Sequences,
  vocab: number,
  take: (n: number, row: Float32Array) => void,
): Promise<void> {
  const firsts = [...new Set(starts)];
  const lengths = firsts.map((first, i) => (firsts[i + 1] ?? tokens.length) - first);
  for (let at = 0; at < firsts.length; ) {
    let width = lengths[at]!;
    let count = 1;
    while (at + count < firsts.length) {
      const wider = Math.max(width, lengths[at + count]!);
      if ((count + 1) * wider * vocab > MOST_LOGITS) break;
      width = wider;
      count += 1;
    }
    const ids = new Int32Array(count * width);
    const mask = new Uint8Array(count * width);
    const positions = new Int32Array(count * width);
    for (let r = 0; r < count; r++)
      for (let i = 0; i < lengths[at + r]!; i++) {
        ids[r * width + i] = tokens[firsts[at + r]! + i]!;
        mask[r * width + i] = 1;
        positions[r * width + i] = i;
      }
    const pass = await lm.run({ batch: count, ids, mask, positions });
    for (const tensor of Object.values(pass.cache)) tensor.dispose();
    for (let r = 0; r < count; r++)
      for (let i = 0; i < lengths[at + r]!; i++) {
        const row = (r * width + i) * pass.vocab;
        take(firsts[at + r]! + i, pass.logits.subarray(row, row + pass.vocab));
      }
    at += count;
  }
}
