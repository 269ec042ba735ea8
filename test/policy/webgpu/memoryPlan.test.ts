import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { LabDevice } from '../../../src/gpu/device.ts';
import type { PolicyShape } from '../../../src/policy/engine.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { checkMemory, describeMemory, planMemory } from '../../../src/policy/webgpu/memoryPlan.ts';
import { openTestDevice } from '../../kernel/device.ts';

const SHAPE: PolicyShape = { vocab: 50, width: 16, layers: 2, heads: 4, hidden: 64, context: 48 };
const DEFAULTS = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 };

describe('planning the memory of a policy', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each([
    { shape: SHAPE, capacity: 128, rollouts: 0 },
    { shape: { ...SHAPE, mlp: 'swiglu' as const, layers: 1, hidden: 44 }, capacity: 200, rollouts: 3 },
    { shape: { ...SHAPE, vocab: 2500, context: 300 }, capacity: 65, rollouts: 1300 },
  ])('counts what the engine holds, to the byte: %o', async ({ shape, capacity, rollouts }) => {
    const plan = planMemory(shape, { capacity, rollouts });
    const engine = await createWebGpuEngine(device, shape, { capacity });
    if (rollouts > 0) {
      const sampler = engine.sampler(rollouts);
      await sampler.turn(
        Array.from({ length: rollouts }, () => [1]),
        { stop: 0, limit: 1, temperature: 0, seed: 1 },
      );
    }
    expect(plan.total).toBe(engine.bytes);
    expect(plan.parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(plan.total);
    expect(plan.parts.every(({ bytes }, i) => i === 0 || bytes <= plan.parts[i - 1]!.bytes)).toBe(true);
    engine.destroy();
  });

  const big = { ...SHAPE, vocab: 4096, width: 256, hidden: 1024, layers: 4, context: 512 };
  const refusal = (run: () => void): LabError => {
    try {
      run();
    } catch (error) {
      if (error instanceof LabError) return error;
      throw error;
    }
    throw new Error('nothing was refused');
  };

  it('says what to lower, and to what: that then fits and one more does not', () => {
    const tokens = planMemory(big, { capacity: 50_000, rollouts: 16 });
    const { message, remedy } = refusal(() => checkMemory(tokens, DEFAULTS));
    expect(message).toMatch(
      /^needs [\d.,]+ GB: .* alone need [\d,]+ MB, and one buffer of this device holds 134 MB$/,
    );
    const advised = Number(/tokens a step to ([\d,]+) or the width/.exec(remedy)?.[1]?.replace(',', ''));
    checkMemory(planMemory(big, { capacity: advised, rollouts: 16 }), DEFAULTS);
    const more = planMemory(big, { capacity: advised + 64, rollouts: 16 });
    expect(() => checkMemory(more, DEFAULTS)).toThrow(LabError);

    const rollouts = planMemory(big, { capacity: 1024, rollouts: 2000 });
    expect(refusal(() => checkMemory(rollouts, DEFAULTS)).remedy).toMatch(
      /rollouts decoded together to 256 or/,
    );
    const width = planMemory({ ...big, vocab: 40_000, width: 1024, heads: 16 }, { capacity: 64 });
    expect(refusal(() => checkMemory(width, DEFAULTS)).remedy).toMatch(/lower the width to 576$/);
    const all = { ...DEFAULTS, total: 3e8 };
    expect(refusal(() => checkMemory(planMemory(big, { capacity: 4096 }), all)).remedy).toMatch(
      /tokens a step/,
    );
    expect(
      refusal(() => checkMemory(planMemory(big, { capacity: 4096 }), { ...all, total: 1e5 })).remedy,
    ).toMatch(/the vocabulary and the width/);
  });

  it('speaks in the words of a reader', () => {
    expect(describeMemory(planMemory(SHAPE, { capacity: 16 }))).toMatch(/^needs \d{3} kB$/);
    expect(describeMemory(planMemory(big, { capacity: 1024 }))).toMatch(/^needs [\d,]{3} MB$/);
    expect(() => planMemory({ ...SHAPE, hidden: 30 }, { capacity: 16 })).toThrow(LabError);
  });
});
