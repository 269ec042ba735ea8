import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { failureKind, LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import { deviceLost, explain } from '../../src/gpu/failure.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { readBuffer } from '../../src/gpu/read.ts';
import { DeviceSlot } from '../../src/gpu/slot.ts';
import type { RunEvent } from '../../src/lab/services.ts';
import { createWebGpuEngine } from '../../src/policy/webgpu/engine.ts';
import { openGpu } from '../kernel/device.ts';
import { type Call, type Disturb, kept, type Place, recoveries, tell } from './disturbed.ts';

/**
 * Makes the device answer the next buffer that is asked for with “out of memory”: the software device never runs out, so
 * the answer of its innermost error scope is put in its mouth.
 */
function runOutOfMemory(gpu: GPUDevice): void {
  const pop = gpu.popErrorScope.bind(gpu);
  vi.spyOn(gpu, 'popErrorScope').mockImplementationOnce(async () => {
    await pop();
    return { message: 'no room left' } as GPUError;
  });
}

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

  it('ends with the bits of an undisturbed one: out of memory once', async () => {
    let opened = 0;
    const poor: Place = {
      ...place,
      open: async (shape, capacity) => {
        if (opened++ === 0) runOutOfMemory((await slot.get()).gpu);
        return place.open(shape, capacity);
      },
    };
    const events = await tell(poor, (_, work) => work());
    vi.restoreAllMocks();
    expect(recoveries(events)).toMatchObject([{ kind: 'out of memory' }]);
    expect(opened).toBe(2);
    expect(kept(events)).toEqual(kept(whole));
  }, 120_000);

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
});

describe('a device', () => {
  it('that lacks memory says so where it is asked', async () => {
    const { gpu } = await slot.get();
    runOutOfMemory(gpu);
    const memory = new Memory(gpu, 'the policy');
    memory.storage('weights', 64);
    const error = await memory.settled().catch((cause: unknown) => cause);
    vi.restoreAllMocks();
    memory.destroy();
    expect(error).toBeInstanceOf(LabError);
    expect(error).toMatchObject({ kind: 'out of memory', message: expect.stringContaining('no room left') });
  });

  it('that was destroyed on purpose is no failure', async () => {
    const device = await slot.get();
    const fault = new LabError('the kernel does not compile');
    const live = await explain(fault, device, 'here');
    device.destroy();
    expect(await device.lost).toMatchObject({ own: true });
    expect(device.ended).toMatchObject({ own: true });
    const read = await readBuffer(device.gpu, {} as GPUBuffer, 16).catch((error: unknown) => error);
    const after = await explain(fault, device, 'here');
    for (const error of [live, after, read, deviceLost(device.ended!, 'here')])
      expect(failureKind(error)).toBeNull();
    expect([live, after]).toEqual([fault, fault]);
    // The next to ask gets another one all the same.
    expect(await slot.get()).not.toBe(device);
  });

  it('that was lost explains every error', async () => {
    const device = await slot.get();
    const fault = new LabError('the kernel does not compile');
    device.gpu.destroy();
    expect(await explain(fault, device, 'here')).toMatchObject({ kind: 'device lost', cause: fault });
    const full = new LabError('no room', { kind: 'out of memory' });
    expect(await explain(full, device, 'here')).toBe(full);
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
