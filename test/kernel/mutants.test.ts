import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type * as Template from '../../src/gpu/wgsl.ts';
import { openTestDevice } from './device.ts';
import { EQUIVALENT } from './equivalent.ts';
import { Hunt, type Kill } from './hunt.ts';
import { type Mutant, mutantsOf } from './mutate.ts';
import { PICKED } from './picked.ts';
import { kernelSeed } from './seed.ts';

/** Which template is replaced by which: the builders of all kernels go through here. */
const swap = vi.hoisted(() => ({ original: '', mutant: '' }));
vi.mock('../../src/gpu/wgsl.ts', async (importOriginal) => {
  const actual = await importOriginal<typeof Template>();
  const wgsl: typeof actual.wgsl = (source, constants) =>
    actual.wgsl(source === swap.original ? swap.mutant : source, constants);
  return { ...actual, wgsl };
});

const SHADERS = new URL('../../shaders/', import.meta.url);
const seed = kernelSeed();
/** `all`, or names of kernels: every mutant of them. Otherwise the picked ones. */
const asked = process.env.KERNEL_MUTANTS?.split(/[\s,]+/).filter(Boolean) ?? [];
const files = readdirSync(SHADERS).map((file) => file.replace('.wgsl', ''));
const sourceOf = (file: string): string => readFileSync(new URL(`${file}.wgsl`, SHADERS), 'utf8');

describe(`a mutated kernel (KERNEL_SEED=${seed})`, { timeout: 3_600_000 }, () => {
  const hunt = new Hunt(openTestDevice, seed);
  afterAll(() => hunt.destroy());

  const killed = (file: string, original: string, mutant: string): Promise<Kill | null> =>
    hunt.kill(file, async (run) => {
      Object.assign(swap, { original, mutant });
      try {
        return await run();
      } finally {
        swap.original = '';
      }
    });

  it.skipIf(asked.length > 0).each(PICKED)('%s with %s → %s is noticed', async (file, from, to) => {
    const source = sourceOf(file);
    const statements = source.replace(/^\s*\/\/(?!!).*$/gm, '');
    expect(statements.split(from).length, 'occurs once').toBe(2);
    expect(
      await killed(
        file,
        source,
        statements.replace(from, () => to),
      ),
    ).not.toBeNull();
  });

  it.skipIf(asked.length > 0)('is picked for every kernel', () => {
    expect([...new Set(PICKED.map(([file]) => file))].sort()).toEqual(files.sort());
  });

  it.skipIf(asked.length === 0).each(files.filter((file) => asked.includes('all') || asked.includes(file)))(
    '%s is noticed, whichever token is changed',
    async (file) => {
      const source = sourceOf(file);
      const began = performance.now();
      const ends: { mutant: Mutant; kill: Kill | null }[] = [];
      for (const mutant of mutantsOf(file, source))
        ends.push({ mutant, kill: await killed(file, source, mutant.source) });
      const key = ({ line, text }: Mutant) => `${line}: ${text}`;
      const survivors = ends.flatMap(({ mutant, kill }) => (kill ? [] : [mutant]));
      const known = EQUIVALENT.filter((one) => one.file === file).map((one) => one.text);
      report(file, ends, performance.now() - began);
      expect(survivors.filter(({ text }) => !known.includes(text)).map(key), 'survived').toEqual([]);
      const stale = known.filter((text) => !survivors.some((mutant) => mutant.text === text));
      expect(stale, 'called equivalent, but noticed or gone').toEqual([]);
    },
  );
});

/** Keeps how each mutant of a kernel ended in test-results/mutants; `refused` and `endless` ones were noticed, too. */
function report(file: string, ends: readonly { mutant: Mutant; kill: Kill | null }[], ms: number): void {
  const folder = new URL('../../test-results/mutants/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const count = (said: string) => ends.filter(({ kill }) => kill?.what.includes(said)).length;
  const totals = {
    mutants: ends.length,
    noticed: count(''),
    refused: count('does not compile'),
    endless: count('no end'),
    survived: ends.filter(({ kill }) => !kill).length,
    seconds: Math.round(ms / 1000),
  };
  const lines = ends.map(({ mutant: { line, from, to, text }, kill }) => ({ line, from, to, text, kill }));
  writeFileSync(new URL(`${file}.json`, folder), JSON.stringify({ ...totals, seed, lines }, null, 1));
  console.log(file, JSON.stringify(totals));
}
