import { DeviceSlot } from '../gpu/slot.ts';
import { localServices } from '../lab/local.ts';
import type { Services } from '../lab/services.ts';
import { methods } from '../methods/index.ts';
import { hasWasmSimd } from '../policy/wasm/kernels.ts';
import { openCpuEngine } from '../policy/wasm/open.ts';
import { createWebGpuEngine } from '../policy/webgpu/engine.ts';
import { openChromium } from './chromium.ts';
import { openDawn } from './dawn.ts';
import { UsageError } from './usage.ts';

/** Where policies train: Dawn in this process, headless Chromium, or WebAssembly on the processor. */
export type GpuChoice = 'dawn' | 'chromium' | 'none';
const CHOICES: GpuChoice[] = ['dawn', 'chromium', 'none'];

export const GPU_OPTION = {
  name: 'gpu',
  value: 'dawn|chromium|none',
  help: 'where the policy trains (default: the first that works; none where dawn has no graphics card)',
};

/** An opened backend; `close` gives everything back. */
export interface Backend {
  choice: GpuChoice;
  services: Services;
  /** True where a graphics device is offered in software: the processor, used less well. */
  software: boolean;
  close(): Promise<void>;
}

const clock = () => performance.now();

async function dawnBackend(): Promise<Backend> {
  const slot = new DeviceSlot(openDawn);
  const { report } = await slot.get();
  const services = localServices(methods, {
    clock,
    failed: (error) => slot.failed(error),
    openPolicy: async (shape, capacity) => createWebGpuEngine(await slot.get(), shape, { capacity }),
  });
  return { choice: 'dawn', services, software: report.software, close: () => slot.close() };
}

function cpuBackend(): Backend {
  const services = localServices(methods, {
    clock,
    openPolicy: (shape, capacity) => openCpuEngine(shape, { capacity }),
  });
  return { choice: 'none', services, software: false, close: async () => {} };
}

async function chromiumBackend(): Promise<Backend> {
  const page = await openChromium();
  const local = localServices(methods, {
    clock,
    openPolicy: () => Promise.reject(new Error('trains in Chromium')),
  });
  return {
    choice: 'chromium',
    services: { ...local, learn: page.learn },
    software: false,
    close: page.close,
  };
}

const OPEN: Record<GpuChoice, () => Promise<Backend>> = {
  dawn: dawnBackend,
  chromium: chromiumBackend,
  none: async () => cpuBackend(),
};

/**
 * Opens the backend that was asked for, or the first that works. `tried` hears why an earlier one did not.
 * @throws UsageError for an unknown choice; LabError where the one asked for does not work here.
 */
export async function openBackend(word: string | undefined, tried: (line: string) => void): Promise<Backend> {
  if (word !== undefined) {
    const choice = CHOICES.find((one) => one === word);
    if (!choice) throw new UsageError(`--gpu takes ${CHOICES.join(', ')}; got "${word}".`);
    return OPEN[choice]();
  }
  for (const choice of CHOICES) {
    try {
      const backend = await OPEN[choice]();
      if (!backend.software || !hasWasmSimd()) return backend;
      await backend.close();
      tried(
        'Dawn has no graphics card here, only a device in software: the policy trains in WebAssembly, which is faster (--gpu dawn trains on the device).',
      );
      return cpuBackend();
    } catch (error) {
      tried(`--gpu ${choice} does not work here: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return cpuBackend();
}
