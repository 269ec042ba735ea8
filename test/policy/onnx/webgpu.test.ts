import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { exportOnnx } from '../../../src/policy/onnx/export.ts';
import { openOnnxPolicy } from '../../../src/policy/onnx/policy.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { randomCheckpoint } from '../formats/checkpoints.ts';
import { batchOf, LIMIT, nameOf, ort, SHAPES, sequences, spread, worst } from './harness.ts';

describe('the exported model against the WebGPU engine', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it.each(SHAPES.map((shape) => [nameOf(shape), shape] as const))('agrees with it, %s', async (_, shape) => {
    const checkpoint = randomCheckpoint(21, shape);
    const engine = await createWebGpuEngine(device, shape, { capacity: 128 });
    engine.load(checkpoint);
    const batch = batchOf(sequences(21, shape));
    const wanted = await engine.logits(batch);
    engine.destroy();
    expect(spread(wanted)).toBeGreaterThan(2);
    for (const cache of [false, true]) {
      const policy = await openOnnxPolicy(ort, exportOnnx(checkpoint, { cache }), 'wasm');
      expect(worst(await policy.logits(batch), wanted)).toBeLessThan(LIMIT);
      await policy.destroy();
    }
  });
});
