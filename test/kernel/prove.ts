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

/** Runs a case at one n on the inputs of a seed, and says which checks do not hold. Never throws. */
export async function prove(
  kernelCase: KernelCase,
  n: number,
  seed: string,
  bench: KernelBench,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  const fail = (what: string) => failures.push({ case: kernelCase.name, n, seed, what });
  try {
    for (const check of await kernelCase.run(bench, n, new Rng(`${seed}/${kernelCase.name}/${n}`))) {
      const error = relativeError(check.out, check.reference);
      // Written so that NaN fails.
      if (!(error <= check.bound)) fail(`${check.name}: error ${error} where ${check.bound} is allowed`);
    }
  } catch (error) {
    fail(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }
  return failures;
}
