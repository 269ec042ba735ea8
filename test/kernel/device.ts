import { existsSync } from 'node:fs';
import { create, globals } from 'webgpu';
import { type LabDevice, openDevice } from '../../src/gpu/device.ts';

/** Chromium's software Vulkan driver, used where the environment names no other. */
const SOFTWARE = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** Dawn's instance: garbage-collecting it while a device lives crashes the process. */
let instance: GPU | undefined;

/** Dawn's GPU object. The loader of Vulkan must be on LD_LIBRARY_PATH before the process starts. */
export function openGpu(): GPU {
  if (!process.env.VK_ICD_FILENAMES && existsSync(SOFTWARE)) process.env.VK_ICD_FILENAMES = SOFTWARE;
  Object.assign(globalThis, globals);
  instance ??= create([]);
  return instance;
}

/** A device for tests. @throws LabError where no Vulkan driver is found. */
export const openTestDevice = (): Promise<LabDevice> => openDevice(openGpu());
