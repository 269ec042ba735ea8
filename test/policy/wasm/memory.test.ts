import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { createWasmEngine } from '../../../src/policy/wasm/engine.ts';
import { type Block, LinearMemory } from '../../../src/policy/wasm/memory.ts';

const purpose = { what: 'a test', remedy: 'ask for less' };

describe('LinearMemory', () => {
  it('never deals out the same place twice, and gives back what is freed', () => {
    const counts = fc.array(fc.record({ count: fc.nat(40_000), keep: fc.boolean() }), { maxLength: 30 });
    fc.assert(
      fc.property(counts, (steps) => {
        const memory = new LinearMemory();
        const held: { block: Block<'a' | 'b'>; count: number; mark: number }[] = [];
        for (const [mark, { count, keep }] of steps.entries()) {
          const block = memory.allocate({ a: count, b: 3 }, purpose);
          expect(block.at.a % 16).toBe(0);
          expect(block.at.a).toBeGreaterThan(0);
          memory.ids(block.at.a, count).fill(mark);
          memory.ids(block.at.b, 3).fill(-mark);
          held.push({ block, count, mark });
          if (!keep) held.shift()!.block.free();
          for (const one of held) {
            expect(memory.ids(one.block.at.a, one.count).every((x) => x === one.mark)).toBe(true);
            expect([...memory.ids(one.block.at.b, 3)]).toEqual(
              [-one.mark, -one.mark, -one.mark].map((x) => x | 0),
            );
          }
        }
        for (const { block } of held) block.free();
        const { size } = memory;
        memory.allocate({ all: (size - 64) / 4 }, purpose);
        expect(memory.size).toBe(size);
      }),
      { numRuns: 30 },
    );
  });

  it('does not give a place back twice', () => {
    const memory = new LinearMemory();
    const first = memory.allocate({ a: 16 }, purpose);
    first.free();
    const second = memory.allocate({ a: 16 }, purpose);
    first.free();
    expect(memory.allocate({ a: 16 }, purpose).at.a).not.toBe(second.at.a);
  });

  it('says what does not fit and what to lower, and stays as it was', () => {
    const memory = new LinearMemory();
    const { size } = memory;
    expect(() => memory.allocate({ a: 2 ** 30 }, purpose)).toThrow(/a test needs 4096 MiB .*ends at 4096/);
    try {
      memory.allocate({ a: 2 ** 30 }, purpose);
    } catch (error) {
      expect(error).toBeInstanceOf(LabError);
      expect(String(error)).toMatch(/ask for less/);
    }
    expect(memory.size).toBe(size);
    memory.allocate({ a: 4 }, purpose);
  });
});

describe('an engine beyond its memory', () => {
  it('refuses the policy, the sampler or the batch, and goes on with less', async () => {
    const shape = { vocab: 64, width: 64, layers: 2, heads: 2, hidden: 64, context: 4096 };
    await expect(createWasmEngine({ ...shape, width: 2048, context: 1 << 20 })).rejects.toThrow(
      /a policy of this shape needs/,
    );
    const engine = await createWasmEngine(shape, { capacity: 1 << 20 });
    expect(() => engine.sampler(2000)).toThrow(/a sampler for 2000 rollouts needs/);
    const n = 1 << 20;
    const starts = Int32Array.from({ length: n }, (_, i) => i);
    const large = {
      tokens: new Int32Array(n),
      starts,
      targets: new Int32Array(n),
      weights: new Float32Array(n),
    };
    await expect(engine.evaluate(large)).rejects.toThrow(/a batch of 1048576 positions needs/);
    const turns = await engine.sampler(2).turn([[1], [2]], { stop: -1, limit: 2, temperature: 0, seed: 0 });
    expect(turns.map(({ tokens }) => tokens.length)).toEqual([2, 2]);
    engine.destroy();
  });
});
