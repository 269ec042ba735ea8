import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import { LabDevice } from '../../../src/gpu/device.ts';
import type { PolicyShape } from '../../../src/policy/engine.ts';
import { layout } from '../../../src/policy/layout.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { FORWARD, GRADIENT, relativeError } from '../../kernel/harness.ts';
import { stepOptions } from '../twin/copyTask.ts';
import { raggedBatch } from '../twin/differences.ts';

const SHAPE: PolicyShape = {
  vocab: 150,
  width: 64,
  layers: 2,
  heads: 4,
  hidden: 68,
  mlp: 'swiglu',
  context: 48,
};

/** Whatever this device is, the kernels are those that a graphics card gets. */
describe('the kernels of a graphics card', { timeout: 120_000 }, () => {
  let device: LabDevice;
  let asCard: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
    asCard = new LabDevice(device.gpu, { ...device.report, software: false, quads: false });
  }, 120_000);
  afterAll(() => device?.destroy());

  it('train and sample as the twins do', async () => {
    const engine = await createWebGpuEngine(asCard, SHAPE, { capacity: 256 });
    expect(new Set(engine.dispatches)).toContain('matmul_shared');
    const twin = createCpuEngine(SHAPE);
    const { positions: _, ...batch } = raggedBatch(new Rng('card'), [48, 1, 30, 7, 19, 2], SHAPE.vocab);
    expect(relativeError(await engine.logits(batch), await twin.logits(batch))).toBeLessThan(FORWARD);
    for (const policy of [engine, twin])
      policy.train(batch, { ...stepOptions, beta1: 0, clip: Number.POSITIVE_INFINITY });
    const [gradient, expected] = [(await engine.save()).moment1, (await twin.save()).moment1];
    for (const { name, offset, size } of layout(SHAPE).tensors) {
      const part = (values: Float32Array) => values.subarray(offset, offset + size);
      expect(relativeError(part(gradient), part(expected)), name).toBeLessThan(GRADIENT);
    }
    const said = await Promise.all(
      [engine, twin].map((policy) =>
        policy.sampler(3).turn([[1, 2], [3], [4, 5, 6]], { stop: 0, limit: 6, temperature: 0, seed: 1 }),
      ),
    );
    expect(said[0]!.map(({ tokens }) => tokens)).toEqual(said[1]!.map(({ tokens }) => tokens));
    engine.destroy();
  });
});
