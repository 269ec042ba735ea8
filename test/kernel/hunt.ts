import type { LabDevice } from '../../src/gpu/device.ts';
import { Bench, Listener } from './bench.ts';
import type { KernelCase } from './cases/case.ts';
import { CASES } from './cases/index.ts';
import { prove } from './prove.ts';

/** What noticed a mutant. */
export interface Kill {
  case: string;
  n: number;
  what: string;
}

/** Small and ragged counts first: most mutants die there, and quickly. */
const ORDER = [17, 3, 65, 128, 200, 1, 0];

/** Longest that one case may take at one count; a mutant that never ends is dead too. Milliseconds. */
const PATIENCE = 60_000;
const ENDLESS = `no end after ${PATIENCE / 1000} s`;

/** Runs cases against kernels that are mutated meanwhile. */
export class Hunt {
  readonly #open: () => Promise<LabDevice>;
  readonly #seed: string;
  #device: LabDevice | null = null;
  /** Texts of kernels that are not mutated. */
  readonly #sound = new Set<string>();
  /** Cases at counts that hold without a mutation. */
  readonly #held = new Set<string>();

  constructor(open: () => Promise<LabDevice>, seed: string) {
    this.#open = open;
    this.#seed = seed;
  }

  destroy(): void {
    this.#device?.destroy();
    this.#device = null;
  }

  /**
   * What notices that template `file` is replaced while `mutated` runs, or null. Every variant is tried at one count
   * before the next count, those with the shortest texts first; those whose text does not change are left out.
   * @param mutated runs its argument with the template replaced.
   * @throws Error where a case fails without the mutation.
   */
  async kill(file: string, mutated: <T>(run: () => Promise<T>) => Promise<T>): Promise<Kill | null> {
    const { quads } = (await this.#ready()).report;
    const touched: { kernelCase: KernelCase; length: number }[] = [];
    for (const kernelCase of CASES) {
      if (!kernelCase.proves.includes(file) || (kernelCase.quads && !quads)) continue;
      const sound = await this.#textsOf(kernelCase);
      for (const code of sound) this.#sound.add(code);
      const changed = (await mutated(() => this.#textsOf(kernelCase))).filter(
        (code) => !sound.includes(code),
      );
      // A template that cannot be baked any more gives no text at all.
      if (changed.length > 0 || sound.length === 0)
        touched.push({ kernelCase, length: changed.reduce((sum, code) => sum + code.length, 0) });
    }
    const tries = touched
      .sort((a, b) => a.length - b.length)
      .flatMap(({ kernelCase }) => kernelCase.counts.map((n) => ({ kernelCase, n })))
      .sort((a, b) => rank(a.n) - rank(b.n));
    for (const { kernelCase, n } of tries) {
      await this.#hold(kernelCase, n);
      const bench = new Bench(await this.#ready(), this.#sound);
      const failures = await mutated(() =>
        Promise.race([prove(kernelCase, n, this.#seed, bench), endless()]),
      );
      const failure = failures[0];
      // A device that hangs or is lost would condemn every mutant after this one.
      if (failure && (failure.what === ENDLESS || failure.what.includes('device was lost')))
        this.#device = null;
      if (failure) return { case: kernelCase.name, n, what: failure.what };
    }
    return null;
  }

  /** Texts at the smallest count; where others depend on the count, they are compiled again for each mutant. */
  async #textsOf(kernelCase: KernelCase): Promise<string[]> {
    const listener = new Listener();
    await prove(kernelCase, Math.min(...kernelCase.counts), this.#seed, listener);
    return [...listener.texts.keys()];
  }

  async #ready(): Promise<LabDevice> {
    this.#device ??= await this.#open();
    return this.#device;
  }

  async #hold(kernelCase: KernelCase, n: number): Promise<void> {
    const key = `${kernelCase.name}/${n}`;
    if (this.#held.has(key)) return;
    const failures = await prove(kernelCase, n, this.#seed, new Bench(await this.#ready()));
    if (failures.length > 0) throw new Error(`fails without a mutation: ${JSON.stringify(failures)}`);
    this.#held.add(key);
  }
}

const rank = (n: number): number => (ORDER.includes(n) ? ORDER.indexOf(n) : ORDER.length);

async function endless(): Promise<{ what: string }[]> {
  await new Promise((resolve) => setTimeout(resolve, PATIENCE).unref());
  return [{ what: ENDLESS }];
}
