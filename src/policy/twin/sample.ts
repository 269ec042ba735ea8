import type { Truncation } from '../engine.ts';
import type { Reals } from './arrays.ts';
import { counterUniform } from './counter.ts';
import { TruncatedRow } from './truncate.ts';

/** What names a draw: `position` is the place in the rollout that the sampled token will take, from 0. */
export interface DrawKey {
  seed: number;
  rollout: number;
  position: number;
}

/** A token and its log-probability in nats under the distribution that it was drawn from. */
export interface Drawn {
  token: number;
  logProb: number;
}

/**
 * One token id from the truncated distribution of a row: the largest logit at temperature 0 (the lowest id on a tie),
 * else the inverse CDF in id order at u = `counterUniform(seed, rollout, position)`.
 */
export function draw(row: TruncatedRow, key: DrawKey): Drawn {
  const token = row.draw(counterUniform(key.seed, key.rollout, key.position));
  return { token, logProb: row.logProb(token) };
}

/**
 * `draw` from one row of logits, the entries at … at + V − 1. @param state of the grammar, where there is one.
 */
export function sample(
  logits: Reals,
  at: number,
  v: number,
  truncation: Truncation,
  key: DrawKey,
  state = 0,
): Drawn {
  return draw(new TruncatedRow(v).read(logits, at, truncation, state), key);
}
