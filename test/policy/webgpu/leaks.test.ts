import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabDevice } from '../../../src/gpu/device.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { PolicyShape } from '../../../src/policy/engine.ts';
import { createWebGpuEngine } from '../../../src/policy/webgpu/engine.ts';
import { openTestDevice } from '../../kernel/device.ts';
import { stepOptions } from '../twin/copyTask.ts';

const SHAPE: PolicyShape = { vocab: 5, width: 4, layers: 1, heads: 1, hidden: 4, context: 8 };
const ENGINES = 200;

/** Counts the buffers of a device that were made and not destroyed, whoever made them. */
function countBuffers(gpu: GPUDevice): { live: Set<GPUBuffer>; made: number } {
  const counted = { live: new Set<GPUBuffer>(), made: 0 };
  const create = gpu.createBuffer.bind(gpu);
  Object.defineProperty(gpu, 'createBuffer', {
    value: (descriptor: GPUBufferDescriptor) => {
      const buffer = create(descriptor);
      const destroy = buffer.destroy.bind(buffer);
      Object.defineProperty(buffer, 'destroy', {
        value: () => {
          counted.live.delete(buffer);
          destroy();
        },
      });
      counted.live.add(buffer);
      counted.made++;
      return buffer;
    },
  });
  return counted;
}

describe('a device under many policies', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it(`gets every buffer of ${ENGINES} policies and their samplers back, and compiles for the first alone`, async () => {
    const buffers = countBuffers(device.gpu);
    const batch = pack([{ tokens: [1, 2, 3], weights: [1, 1, 0] }]);
    let pipelines = 0;
    for (let i = 0; i < ENGINES; i++) {
      const engine = await createWebGpuEngine(device, SHAPE, { capacity: 8 });
      const [kept, closed] = [engine.sampler(2), engine.sampler(1)];
      closed.destroy();
      // Some are used, some thrown away at once, with their samplers' kernels still being recorded.
      if (i % 10 === 0) {
        engine.train([batch, batch], stepOptions);
        await kept.turn([[1], [2]], { stop: 0, limit: 2, temperature: 1, topP: 0.9, seed: i });
        await engine.evaluate(batch, { temperature: 1, topP: 0.9 });
        expect((await engine.stats())[0]?.step).toBe(1);
      }
      if (i === 0) {
        pipelines = device.pipelines.count;
        expect(buffers.live.size).toBeGreaterThan(50);
      }
      engine.destroy();
      expect(engine.bytes).toBe(0);
    }
    await device.gpu.queue.onSubmittedWorkDone();
    // What a sampler still recorded when it was destroyed settles in later turns of the loop.
    await expect.poll(() => buffers.live.size).toBe(0);
    expect(buffers.made).toBeGreaterThan(ENGINES * 50);
    expect(device.pipelines.count).toBe(pipelines);
    expect(device.fault).toBeNull();
  });
});
