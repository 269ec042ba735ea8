import { expect, it } from 'vitest';
import type { PolicyShape } from '../../../src/policy/engine.ts';
import { allocateCache, allocateScratch } from '../../../src/policy/wasm/decode.ts';
import { openMachine } from '../../../src/policy/wasm/machine.ts';
import { planWasmMemory } from '../../../src/policy/wasm/memoryPlan.ts';
import { allocateWorkspace } from '../../../src/policy/wasm/workspace.ts';

const PAGE = 65536;
const SHAPES: PolicyShape[] = [
  { vocab: 146, width: 64, layers: 2, heads: 4, hidden: 256, context: 128 },
  { vocab: 4099, width: 36, layers: 3, heads: 3, hidden: 52, context: 70, mlp: 'swiglu' },
];

it.each(SHAPES)('plans what the memory of an engine grows to, to the page: width $width', async (shape) => {
  for (const [capacity, rollouts] of [
    [512, 0],
    [300, 17],
    [2048, 256],
  ] as const) {
    const machine = await openMachine(shape);
    allocateWorkspace(machine, capacity);
    if (rollouts > 0) {
      allocateScratch(machine, rollouts);
      for (let l = 0; l < shape.layers; l++) allocateCache(machine, rollouts);
    }
    const planned = await planWasmMemory(shape, { capacity, rollouts });
    const held = machine.memory.size;
    expect(held).toBeGreaterThanOrEqual(planned);
    // What is left of a stretch too small for the next block: one for each block at most, none larger than a block.
    expect(held - planned).toBeLessThan(Math.max(2 * PAGE, 0.1 * held));
  }
});

it('refuses a shape that no engine can build', async () => {
  await expect(planWasmMemory({ ...SHAPES[0]!, heads: 5 }, { capacity: 1 })).rejects.toThrow(/heads/);
});
