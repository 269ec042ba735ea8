import type { Rng } from '../../../src/base/rng.ts';
import type { KernelBench } from '../bench.ts';

/**
 * What a kernel gave and what its float64 twin gives. It holds where ‖out − reference‖ / ‖reference‖ ≤ bound; a bound of
 * 0 asks for equal values. Where a kernel has outputs of different size, each is a check of its own: a norm over all of
 * them would hide an error in the small ones.
 */
export interface Check {
  name: string;
  out: ArrayLike<number>;
  reference: ArrayLike<number>;
  bound: number;
}

/**
 * One variant of one or more kernels, proved on fresh inputs. Cases are data and pure functions of a bench and a random
 * stream: they import nothing of the test runner or of Node, because the same list runs under Dawn and in a browser.
 *
 * To add a kernel: write a file of cases beside this one (or extend one), list it in `index.ts`, and name the kernel's
 * file in `proves`; a test fails as long as a file of shaders/ is in no list. A case
 * - draws every input from `rng`, and gives outputs as `poison(count)`, so that an entry left out shows as NaN;
 * - covers ragged sizes (multiples of no tile), 0 and 1 by its `counts`, and each option of the text by a variant;
 * - asks `bench.run(kernel, slots, sizes)` for the outputs, which also checks that the bits come out equal twice and that
 *   nothing is written, nor used, beyond the data of a slot;
 * - draws again (`drawUntil`) where the reference is so small by cancellation that a relative error says nothing.
 * Then `npm run mutants -- <kernel>` changes every literal, operator and name of the text in turn: each change must break
 * a check. Strengthen the case until none survives, or list the change in `equivalent.ts` with the reason why it is none.
 */
export interface KernelCase {
  /** Names the case in reports and its random stream; unique. */
  name: string;
  /** The files of shaders/ that it proves, without their extension. */
  proves: readonly string[];
  /** The values of `n` to run at: mostly rows, for some kernels parameters. */
  counts: readonly number[];
  /** Fewer of them, for the browser. */
  brief: readonly number[];
  /** Only where every subgroup has 4 lanes. */
  quads?: boolean;
  run(bench: KernelBench, n: number, rng: Rng): Promise<Check[]>;
}

/** Row counts that are nothing, one, no multiple of any tile, and full workgroups. */
export const COUNTS: readonly number[] = [0, 1, 3, 17, 64, 65, 128, 200];
export const BRIEF: readonly number[] = [0, 1, 65];

/** Forward kernels agree with their twins to this, gradients to ten times it. */
export const FORWARD = 1e-5;
export const GRADIENT = 1e-4;
export const EXACT = 0;
