import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../src/gpu/device.ts';
import { Bench } from './bench.ts';
import { CASES } from './cases/index.ts';
import { openTestDevice } from './device.ts';
import { prove } from './prove.ts';
import { kernelSeed } from './seed.ts';

const seed = kernelSeed();
const files = readdirSync(new URL('../../shaders', import.meta.url)).map((file) => file.replace('.wgsl', ''));

describe(`kernels against their float64 twins (KERNEL_SEED=${seed})`, { timeout: 120_000 }, () => {
  let device: LabDevice;
  const ran = new Set<string>();
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it('are each proved by a case of their own name', () => {
    expect(new Set(CASES.map((kernelCase) => kernelCase.name)).size).toBe(CASES.length);
    const proved = [...new Set(CASES.flatMap((kernelCase) => kernelCase.proves))].sort();
    expect(proved, 'a file of shaders/ has no case: see cases/case.ts').toEqual(files.sort());
  });

  it.for(CASES.map(({ name }) => name))('%s', async (name, { skip }) => {
    const kernelCase = CASES.find((one) => one.name === name)!;
    skip(kernelCase.quads === true && !device.report.quads, 'needs subgroups of 4 lanes');
    const bench = new Bench(device);
    for (const n of kernelCase.counts) expect(await prove(kernelCase, n, seed, bench)).toEqual([]);
    expect([...bench.labels].sort()).toEqual([...kernelCase.proves].sort());
    for (const label of bench.labels) ran.add(label);
  });

  it('ran, every one of them', () => {
    expect([...ran].sort()).toEqual(files.sort());
  });
});
