import { LabError } from '../../base/errors.ts';
import type { ChainCall } from '../model.ts';

/** How a walk goes. */
export interface WalkOptions {
  /** Fewest and most calls of a chain; each walk draws its length L uniformly from the range. */
  length: [number, number];
  /** Most environments (clusters) that one chain may touch: K. */
  environments: number;
  /** Off: the first failed call ends the walk. */
  rollback: boolean;
  /** Neighbours in proportion to w, or all alike. */
  weights: 'witnessed' | 'uniform';
  /** Failed calls after which the chain is dropped. */
  maxTries: number;
}

export const WALK_DEFAULTS: WalkOptions = {
  length: [2, 6],
  environments: Number.POSITIVE_INFINITY,
  rollback: true,
  weights: 'witnessed',
  maxTries: 8,
};

/** What came of a walk. */
export interface Walked {
  /** Calls that were accepted, in order. Empty where the walk was dropped. */
  chain: ChainCall[];
  /** Why there is no chain; `null` where there is one. */
  dropped: string | null;
  /** Calls executed, the failed ones included. */
  executed: number;
  /** Calls that were refused, failed, or did not do what their edge means. 0 = an unbroken walk. */
  failed: number;
}

/** The options with defaults filled in. @throws LabError where a number makes no sense. */
export function walkOptions(given: Partial<WalkOptions>): WalkOptions {
  const options = { ...WALK_DEFAULTS, ...given };
  const [shortest, longest] = options.length;
  const refuse = (where: string, what: string, remedy: string): never => {
    throw new LabError(what, { where: `walk options, ${where}`, remedy });
  };
  if (!Number.isInteger(shortest) || !Number.isInteger(longest) || shortest < 1 || longest < shortest) {
    refuse(
      'length',
      `[${shortest}, ${longest}] is not a range of lengths`,
      'give two whole numbers, 1 ≤ first ≤ second',
    );
  }
  if (!(options.environments >= 1)) {
    refuse('environments', `${options.environments} environments allow no call`, 'give at least 1');
  }
  if (!Number.isInteger(options.maxTries) || options.maxTries < 1) {
    refuse('maxTries', `${options.maxTries} tries`, 'give a whole number of at least 1');
  }
  return options;
}
