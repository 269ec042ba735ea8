import { type FailureKind, LabError } from '../base/errors.ts';
import { explain, noteClosed } from './failure.ts';
import { Pipelines } from './pipelines.ts';
import type { DeviceLoss, DeviceReport } from './report.ts';
import { checkKnownAnswers } from './selfTest.ts';

/** An open WebGPU device with its pipeline cache. Its owner destroys it; engines on it only borrow it. */
export class LabDevice {
  readonly gpu: GPUDevice;
  readonly report: DeviceReport;
  readonly pipelines: Pipelines;
  /** Resolves when the device is gone, by a driver or by `destroy`; it never rejects. */
  readonly lost: Promise<DeviceLoss>;
  #own = false;
  #fault: string | null = null;
  #faultKind: FailureKind | null = null;
  #ended: DeviceLoss | null = null;

  constructor(gpu: GPUDevice, report: DeviceReport) {
    this.gpu = gpu;
    this.report = report;
    this.pipelines = new Pipelines(gpu);
    this.lost = gpu.lost.then(({ message }) => {
      this.#ended = { own: this.#own, message };
      return this.#ended;
    });
    gpu.addEventListener('uncapturederror', ({ error }) => {
      if (this.#fault === null && isOutOfMemory(error)) this.#faultKind = 'out of memory';
      this.#fault ??= error.message;
    });
  }

  /** The first error that no scope caught: what was computed since cannot be trusted. `null` where there is none. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Kind of that error, where it is one that going on from a checkpoint helps against. */
  get faultKind(): FailureKind | null {
    return this.#faultKind;
  }

  /** How the device ended, as soon as that is known here; `null` while it lives. */
  get ended(): DeviceLoss | null {
    return this.#ended;
  }

  /** Ends the device; `lost` then resolves with `own`. */
  destroy(): void {
    this.#own = true;
    noteClosed(this.gpu);
    this.gpu.destroy();
  }
}

/** Limits worth raising where the adapter has more: large models need them, none of our kernels do. */
const RAISED = ['maxStorageBufferBindingSize', 'maxBufferSize'] as const;
/** Features that help and that nothing depends on. */
const HELPFUL: readonly GPUFeatureName[] = ['timestamp-query', 'subgroups'];

/**
 * Opens a device: the adapter's own large limits first, the defaults where that is refused, and checks small kernels
 * against known answers before anything is trained on it.
 * @param gpu `navigator.gpu`, or what Dawn's `create` returns in Node (keep a reference to that object).
 * @throws LabError where there is no adapter, no device, or the device computes wrong numbers.
 */
export async function openDevice(gpu: GPU | undefined): Promise<LabDevice> {
  if (!gpu) throw noWebGpu('this browser has no WebGPU');
  let refusal: unknown = null;
  for (const rung of [{ limits: true, features: true }, { limits: true }, {}]) {
    // A fresh adapter each time: a second device from one adapter is lost from the start in some browsers.
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) throw noWebGpu('WebGPU is there but finds no graphics adapter');
    try {
      const device = await adapter.requestDevice(wishes(adapter, rung));
      const opened = new LabDevice(device, report(adapter, device));
      try {
        await checkKnownAnswers(device, opened.pipelines, opened.report);
      } catch (error) {
        throw await explain(error, opened, 'WebGPU');
      }
      return opened;
    } catch (error) {
      if (error instanceof LabError) throw error;
      refusal = error;
    }
  }
  throw noWebGpu('the graphics adapter gives no device', refusal);
}

/** Dawn in Node may lack the class of a global name. */
function isOutOfMemory(error: GPUError): boolean {
  return typeof GPUOutOfMemoryError === 'function' && error instanceof GPUOutOfMemoryError;
}

function wishes(adapter: GPUAdapter, rung: { limits?: boolean; features?: boolean }): GPUDeviceDescriptor {
  return {
    label: 'rollout-lab',
    requiredLimits: rung.limits ? Object.fromEntries(RAISED.map((name) => [name, adapter.limits[name]])) : {},
    requiredFeatures: rung.features ? HELPFUL.filter((name) => adapter.features.has(name)) : [],
  };
}

function report(adapter: GPUAdapter, device: GPUDevice): DeviceReport {
  const { vendor, architecture, device: model, description } = adapter.info;
  const words = [vendor, architecture, model, description].filter(Boolean);
  const limits: Record<string, number> = {};
  for (const name in device.limits) limits[name] = Number(device.limits[name as keyof GPUSupportedLimits]);
  const { subgroupMinSize, subgroupMaxSize } = adapter.info;
  return {
    name: words.slice(0, 2).join(' ') || 'unnamed adapter',
    limits,
    features: [...device.features],
    software: adapter.info.isFallbackAdapter || /swiftshader|llvmpipe|basic render/i.test(words.join(' ')),
    quads: device.features.has('subgroups') && subgroupMinSize === 4 && subgroupMaxSize === 4,
  };
}

function noWebGpu(what: string, cause?: unknown): LabError {
  return new LabError(what, {
    where: 'WebGPU',
    remedy: 'use a current Chrome, Edge, Firefox or Safari with graphics acceleration on, or the CPU engine',
    cause,
  });
}
