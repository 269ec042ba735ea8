import type { LabDevice } from '../../src/gpu/device.ts';
import { Bench } from './bench.ts';
import type { KernelCase } from './cases/case.ts';
import { CASES } from './cases/index.ts';
import { prove } from './prove.ts';

/** How a mutant ended: what noticed it, or null where it survived. */
export interface Kill {
  case: string;
  n: number;
  what: string;
}

/** Small and ragged counts first: most mutants die there, and quickly. */
const ORDER = [17, 3, 65, 128, 200, 1, 0];

/** Longest that one case may take at one count; a mutant that never ends is dead too. Milliseconds. */
const PATIENCE = 60_000;

/** Runs cases against kernels that are mutated meanwhile, knowing which texts they have where nothing is. */
export class Hunt {
  readonly #device: LabDevice;
  readonly #seed: string;
  readonly #sound = new Set<string>();
  readonly #cases = new Map<string, readonly KernelCase[]>();

  constructor(device: LabDevice, seed: string) {
    this.#device = device;
    this.#seed = seed;
  }

  /** The cases of a kernel, those with the shortest texts first. @throws Error where one fails without a mutation. */
  async casesOf(file: string): Promise<readonly KernelCase[]> {
    const known = this.#cases.get(file);
    if (known) return known;
    const measured: { kernelCase: KernelCase; length: number }[] = [];
    for (const kernelCase of CASES) {
      if (!kernelCase.proves.includes(file) || (kernelCase.quads && !this.#device.report.quads)) continue;
      const bench = new Bench(this.#device);
      for (const n of kernelCase.counts) {
        const { failures } = await prove(kernelCase, n, this.#seed, bench);
        if (failures.length > 0) throw new Error(`fails without a mutation: ${JSON.stringify(failures)}`);
      }
      const length = [...bench.codes].reduce((sum, code) => sum + code.length, 0);
      for (const code of bench.codes) this.#sound.add(code);
      measured.push({ kernelCase, length });
    }
    const cases = measured.sort((a, b) => a.length - b.length).map(({ kernelCase }) => kernelCase);
    this.#cases.set(file, cases);
    return cases;
  }

  /** What notices that kernel `file` is now another, or null. Call `casesOf` before it is. */
  async kill(file: string): Promise<Kill | null> {
    for (const kernelCase of this.#cases.get(file) ?? []) {
      for (const n of orderOf(kernelCase)) {
        const bench = new Bench(this.#device, this.#sound);
        const verdict = await Promise.race([prove(kernelCase, n, this.#seed, bench), lost()]);
        const failure = verdict.failures[0];
        if (failure) return { case: kernelCase.name, n, what: failure.what };
        // A variant whose text does not hold the changed line: no count will show it.
        if ([...bench.codes].every((code) => this.#sound.has(code))) break;
      }
    }
    return null;
  }
}

function orderOf({ counts }: KernelCase): number[] {
  const rank = (n: number) => (ORDER.includes(n) ? ORDER.indexOf(n) : ORDER.length);
  return [...counts].sort((a, b) => rank(a) - rank(b));
}

async function lost(): Promise<{ failures: { what: string }[] }> {
  await new Promise((resolve) => setTimeout(resolve, PATIENCE).unref());
  return { failures: [{ what: `no end after ${PATIENCE / 1000} s` }] };
}
