import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { failureKind, LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import { lostWhileReading } from '../../src/gpu/failure.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { DeviceSlot } from '../../src/gpu/slot.ts';
import type { RunEvent } from '../../src/lab/services.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { openGpu } from '../kernel/device.ts';
import { type Call, type Disturb, kept, type Place, recoveries, tell } from './disturbed.ts';

/** How many adapters were asked for: one for each device. */
let adapters = 0;
const slot = new DeviceSlot(() => {
  const gpu = openGpu();
  return {
    requestAdapter: (options: GPURequestAdapterOptions) => {
      adapters++;
      return gpu.requestAdapter(options);
    },
  } as GPU;
});
const place: Place = {
  open: async (shape, capacity) => createWebGpuEngine(await slot.get(), shape, { capacity }),
  failed: (error) => slot.failed(error),
};
afterAll(() => slot.close());

/** Destroys the device, past the code that owns it, while the calls numbered so are under way. */
function destroyAt(...at: number[]): Disturb {
  let count = 0;
  return (_, work) => {
    const hit = at.includes(count++);
    const device = slot.get();
    const result = work();
    if (hit) void device.then(({ gpu }) => gpu.destroy());
    return result;
  };
}

describe('a run on WebGPU whose device is lost', () => {
  let whole: RunEvent[] = [];
  const calls: Call[] = [];
  beforeAll(async () => {
    whole = await tell(place, (call, work) => {
      calls.push(call);
      return work();
    });
  }, 120_000);

  const rng = new Rng('losses');
  const one = (call: Call): number => {
    const all = calls.flatMap((other, i) => (other === call ? [i] : []));
    return all[rng.int(all.length)]!;
  };

  // Each loss costs a device with all its kernels; the twins are disturbed at more moments in recovery.test.ts.
  it.each(['open', 'train', 'stats', 'turn', 'save'] as const)(
    'ends with the bits of an undisturbed one: lost in “%s”',
    async (call) => {
      const before = adapters;
      const moment = one(call);
      const events = await tell(place, destroyAt(moment));
      expect(recoveries(events), `call ${moment}`).toMatchObject([{ kind: 'device lost' }]);
      expect(adapters).toBe(before + 1);
      expect(kept(events), `call ${moment}`).toEqual(kept(whole));
    },
    120_000,
  );

  it('resumes once where the numbers are not finite, then advises', async () => {
    let trained = 0;
    const wild: Place = {
      ...place,
      open: async (shape, capacity) => {
        const engine = await place.open(shape, capacity);
        const train = engine.train.bind(engine);
        engine.train = (batch, options) => {
          trained++;
          train(batch, { ...options, learningRate: 1e38 });
        };
        return engine;
      },
    };
    const told: string[] = [];
    await tell(wild, (_, work) => work()).catch((error: LabError) => told.push(error.toString()));
    expect(told[0]).toMatch(/no finite number.*not for the first time.*lower the learning rate/);
    expect(trained).toBe(20);
  }, 120_000);

  it('does not go on after its own destruction', async () => {
    const device = await slot.get();
    const engine: PolicyEngine = await createWebGpuEngine(
      device,
      { vocab: 8, width: 8, layers: 1, heads: 1, hidden: 8, context: 8 },
      { capacity: 8 },
    );
    device.destroy();
    const { own } = await device.lost;
    expect(own).toBe(true);
    expect(() => engine.initialise(1)).toThrow(/was closed/);
    expect(failureKind(await engine.save().catch((error: unknown) => error))).toBeNull();
    expect(failureKind(lostWhileReading(new Error('unmapped'), device.gpu))).toBeNull();
    engine.destroy();
  }, 60_000);
});

describe('a device', () => {
  it('that lacks memory says so where it is asked, and its engine is of that kind', async () => {
    const { gpu } = await slot.get();
    // The software device never runs out, so the answer of its innermost scope is put in its mouth.
    const pop = gpu.popErrorScope.bind(gpu);
    const popped = vi.spyOn(gpu, 'popErrorScope').mockImplementationOnce(async () => {
      await pop();
      return { message: 'no room left' } as GPUError;
    });
    const memory = new Memory(gpu, 'the policy');
    memory.storage('weights', 64);
    const error = await memory.settled().catch((cause: unknown) => cause);
    popped.mockRestore();
    memory.destroy();
    expect(error).toBeInstanceOf(LabError);
    expect(error).toMatchObject({ kind: 'out of memory', message: expect.stringContaining('no room left') });
  });

  it('is sought again with patience, and then said to be lost', async () => {
    const waited: number[] = [];
    let refusals = 0;
    const gpu = openGpu();
    const flaky = new DeviceSlot(
      () => (refusals-- > 0 ? undefined : gpu),
      async (milliseconds) => {
        waited.push(milliseconds);
      },
    );
    const first = await flaky.get();
    expect(await flaky.get()).toBe(first);
    first.gpu.destroy();
    await first.lost;
    refusals = 2;
    const second = await flaky.get();
    expect(second).not.toBe(first);
    expect(waited).toHaveLength(2);
    second.gpu.destroy();
    await second.lost;
    refusals = 100;
    await expect(flaky.get()).rejects.toMatchObject({ kind: 'device lost' });
    await flaky.close();
  }, 60_000);

  it('that never was there is no loss', async () => {
    const none = new DeviceSlot(() => undefined);
    await expect(none.get()).rejects.toMatchObject({ kind: null });
    expect(none.had).toBe(false);
  });
});
