import { Rng } from '../../src/base/rng.ts';
import type { KernelBench } from './bench.ts';
import type { KernelCase } from './cases/case.ts';
import { relativeError } from './numbers.ts';

/** A check that failed, or what the case or the device threw. */
export interface Failure {
  case: string;
  n: number;
  seed: string;
  what: string;
}

/** What came of one case at one n. `worst`: the largest share of its bound that an error took (0 for exact checks). */
export interface Verdict {
  failures: Failure[];
  worst: number;
}

/** Runs a case at one n on the inputs of a seed, and holds every check to its bound. Never throws. */
export async function prove(
  kernelCase: KernelCase,
  n: number,
  seed: string,
  bench: KernelBench,
): Promise<Verdict> {
  const failures: Failure[] = [];
  const fail = (what: string) => failures.push({ case: kernelCase.name, n, seed, what });
  let worst = 0;
  try {
    for (const check of await kernelCase.run(bench, n, new Rng(`${seed}/${kernelCase.name}/${n}`))) {
      const error = relativeError(check.out, check.reference);
      // Written so that NaN fails.
      if (!(error <= check.bound)) fail(`${check.name}: error ${error} where ${check.bound} is allowed`);
      if (check.bound > 0) worst = Math.max(worst, error / check.bound);
    }
  } catch (error) {
    fail(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }
  return { failures, worst };
}
