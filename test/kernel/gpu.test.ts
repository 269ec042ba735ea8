import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import { type LabDevice, openDevice } from '../../src/gpu/device.ts';
import { Memory } from '../../src/gpu/memory.ts';
import { recordPlan } from '../../src/gpu/plan.ts';
import { readBuffer } from '../../src/gpu/read.ts';
import { checkKnownAnswers } from '../../src/gpu/selfTest.ts';
import { openGpu, openTestDevice } from './device.ts';

const MULTIPLY = `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<uniform> factor: vec4u;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  if (t < arrayLength(&x)) { x[t] *= f32(factor.x); }
}`;

describe('the device', { timeout: 120_000 }, () => {
  let device: LabDevice;
  beforeAll(async () => {
    device = await openTestDevice();
  }, 120_000);
  afterAll(() => device?.destroy());

  it('says what it is', () => {
    expect(device.report.name.length).toBeGreaterThan(0);
    expect(device.report.limits.maxComputeInvocationsPerWorkgroup).toBeGreaterThanOrEqual(128);
  });

  it('asks for less where the adapter refuses', async () => {
    const asked: GPUDeviceDescriptor[] = [];
    const gpu = openGpu();
    const stubborn = {
      requestAdapter: async (options?: GPURequestAdapterOptions) => {
        const adapter = await gpu.requestAdapter(options);
        if (!adapter) return null;
        const { features, limits, info } = adapter;
        const requestDevice = async (descriptor: GPUDeviceDescriptor) => {
          asked.push(descriptor);
          if (Object.keys(descriptor.requiredLimits ?? {}).length > 0) throw new TypeError('too much');
          return adapter.requestDevice(descriptor);
        };
        return { features, limits, info, requestDevice };
      },
    };
    const modest = await openDevice(stubborn as unknown as GPU);
    expect(asked).toHaveLength(3);
    expect(modest.report.quads).toBe(false);
    modest.destroy();
  });

  it('names what is missing', async () => {
    await expect(openDevice(undefined)).rejects.toThrow(/no WebGPU/);
    const empty = { requestAdapter: async () => null };
    await expect(openDevice(empty as unknown as GPU)).rejects.toThrow(LabError);
  });

  // A GPU's kernels, a workgroup's tile among them.
  const report = { software: false, quads: false };
  it.each([
    ['rms_norm', '1.0 / sqrt(', '1.5 / sqrt('],
    ['matmul_nt', 'c0_0 += ', 'c0_0 -= '],
    ['attention', 'keep + p;', 'keep + 2 * p;'],
    ['matmul_shared', 'c0 += a0[0]', 'c0 -= a0[0]'],
    ['cross_entropy', 'lse - target_logit', 'lse + target_logit'],
  ])('fails its check where %s computes something else', async (kernel, right, wrong) => {
    const pipelines = {
      get: (label: string, code: string) =>
        device.pipelines.get(label, label === kernel ? code.replace(right, wrong) : code),
    };
    const place = kernel === 'matmul_shared' ? 'the tile of large products' : kernel;
    await expect(checkKnownAnswers(device.gpu, pipelines, report)).rejects.toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/wrong numbers/),
        where: expect.stringContaining(place),
      }),
    );
  });

  it.each([report, { software: true, quads: false }])(
    'passes its check with the kernels of %o',
    async (of) => {
      await expect(checkKnownAnswers(device.gpu, device.pipelines, of)).resolves.toBeUndefined();
    },
  );

  it('counts the bytes of live buffers', async () => {
    const memory = new Memory(device.gpu, 'the test');
    const first = memory.storage('first', 100);
    memory.storage('second', 1);
    await memory.settled();
    expect(memory.bytes).toBe(400 + 16);
    memory.free(first);
    memory.free(first);
    expect(memory.bytes).toBe(16);
    memory.destroy();
    memory.destroy();
    expect(memory.bytes).toBe(0);
    const most = device.gpu.limits.maxBufferSize;
    expect(() => memory.create('huge', most + 1, GPUBufferUsage.UNIFORM)).toThrow(/huge needs/);
  });

  it('runs a recorded plan, or one step of it, as often as asked', async () => {
    const memory = new Memory(device.gpu, 'the test');
    const x = memory.storage('x', 100);
    device.gpu.queue.writeBuffer(x, 0, new Float32Array(100).fill(1));
    const launch = (factor: number) => ({
      label: `times ${factor}`,
      code: MULTIPLY,
      bindings: [x],
      constants: [factor, 0, 0, 0],
      threads: (sizes: Readonly<Record<string, number>>) => sizes.n!,
    });
    const plan = await recordPlan(device.gpu, device.pipelines, memory, [launch(2), launch(5)]);
    expect(plan.labels).toEqual(['times 2', 'times 5']);
    const encoder = device.gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    plan.encode(pass, { n: 100 });
    plan.encode(pass, { n: 64 }, 1);
    plan.encode(pass, { n: 0 });
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
    const out = new Float32Array(await readBuffer(device.gpu, x, 400));
    expect([out[0], out[63], out[64], out[99]]).toEqual([50, 50, 10, 10]);
    memory.destroy();
  });

  it('hands on what the compiler says, is none the worse for it, and remembers errors that nobody caught', async () => {
    const other = await openTestDevice();
    await expect(other.pipelines.get('broken', 'fn main( {')).rejects.toThrow(/does not compile: line 1/);
    // Text that parses and still makes no pipeline.
    const noEntry = '@compute @workgroup_size(1) fn other() {}';
    await expect(other.pipelines.get('nameless', noEntry)).rejects.toThrow(/does not compile/);
    await other.gpu.queue.onSubmittedWorkDone();
    expect(other.fault).toBeNull();
    await checkKnownAnswers(other.gpu, other.pipelines, other.report);
    const buffer = other.gpu.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
    other.gpu.queue.writeBuffer(buffer, 16, new Uint32Array(4));
    await expect.poll(() => other.fault).toMatch(/write|range|large/i);
    buffer.destroy();
    other.destroy();
    expect(await other.lost).toMatchObject({ own: true });
  });
});
