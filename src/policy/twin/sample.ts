import type { Reals } from './arrays.ts';
import { counterUniform } from './counter.ts';

/** What names a draw: `position` is the place in the rollout that the sampled token will take, from 0. */
export interface DrawKey {
  seed: number;
  rollout: number;
  position: number;
}

/**
 * One token id from one row of logits. Temperature 0: the largest logit, the lowest id on a tie. Otherwise the inverse
 * CDF of softmax(logits / T) in id order at u = `counterUniform(seed, rollout, position)`: the first id whose
 * cumulative weight passes u times the total.
 * logits: entries at … at + V − 1.
 */
export function sample(logits: Reals, at: number, v: number, temperature: number, key: DrawKey): number {
  let best = 0;
  for (let id = 1; id < v; id++) if (logits[at + id]! > logits[at + best]!) best = id;
  if (temperature === 0) return best;
  const top = logits[at + best]!;
  let total = 0;
  for (let id = 0; id < v; id++) total += Math.exp((logits[at + id]! - top) / temperature);
  const mark = counterUniform(key.seed, key.rollout, key.position) * total;
  let sum = 0;
  for (let id = 0; id < v; id++) {
    sum += Math.exp((logits[at + id]! - top) / temperature);
    if (sum > mark) return id;
  }
  // Not reached in float64, where the same sum in the same order ends at `total` > mark; stated for NaN logits.
  return best;
}
