import { afterEach, describe, expect, it, vi } from 'vitest';
import { smallShape } from '../twin/copyTask.ts';

/** The modules afresh, as on a machine whose WebAssembly has or lacks SIMD. */
async function machine(simd: boolean) {
  vi.resetModules();
  if (!simd) vi.spyOn(WebAssembly, 'validate').mockReturnValue(false);
  const open = await import('../../../src/policy/wasm/open.ts');
  const engine = await import('../../../src/policy/wasm/engine.ts');
  return { ...open, ...engine };
}

afterEach(() => vi.restoreAllMocks());

describe('the processor’s engine', () => {
  it.each([
    [true, 'WebAssembly SIMD'],
    [false, 'JavaScript, float64'],
  ])('with SIMD %s is %s', async (simd, name) => {
    const { openCpuEngine, cpuName } = await machine(simd);
    const engine = await openCpuEngine(smallShape, { capacity: 7 });
    expect(engine.device).toMatchObject({ backend: 'cpu', name, limits: { capacity: 7 } });
    expect(cpuName()).toBe(name);
  });

  it('says what is missing where WebAssembly SIMD is asked for and absent', async () => {
    const { createWasmEngine } = await machine(false);
    await expect(createWasmEngine(smallShape)).rejects.toThrow(/no WebAssembly SIMD/);
  });

  it('has the same initial weights either way', async () => {
    const engines = [];
    for (const simd of [true, false])
      engines.push(await (await machine(simd)).openCpuEngine(smallShape, { capacity: 64 }));
    const [one, other] = await Promise.all(engines.map((engine) => engine.save()));
    expect(one).toEqual(other);
  });
});
