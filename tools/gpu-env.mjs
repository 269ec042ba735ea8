// Environment in which Dawn (npm `webgpu`) finds a Vulkan driver on Linux: the machine's own, else the software
// driver that Chromium brings along.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findChromium } from './setup.mjs';

const ICD = 'vk_swiftshader_icd.json';

/** Folder of Chromium's own Vulkan loader and software driver, or null. */
function softwareDriver() {
  const chromium = findChromium();
  const folders = [
    '/usr/lib/chromium',
    '/usr/lib/chromium-browser',
    '/opt/google/chrome',
    ...(chromium ? [dirname(chromium)] : []),
  ];
  return folders.find((folder) => existsSync(join(folder, ICD))) ?? null;
}

function hasVulkanLoader() {
  const cache = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' });
  return (cache.stdout ?? '').includes('libvulkan.so.1');
}

function hasGpu() {
  return (
    existsSync('/dev/nvidia0') ||
    (existsSync('/dev/dri') && readdirSync('/dev/dri').some((name) => name.startsWith('render')))
  );
}

/** A copy of the environment with what Dawn needs added. Nothing that is already set is changed. */
export function gpuEnvironment() {
  const env = { ...process.env };
  if (process.platform !== 'linux') return env;
  const folder = softwareDriver();
  if (!folder) return env;
  if (!hasVulkanLoader()) env.LD_LIBRARY_PATH = [env.LD_LIBRARY_PATH, folder].filter(Boolean).join(':');
  if (!hasGpu() && !env.VK_ICD_FILENAMES && !env.VK_DRIVER_FILES) env.VK_ICD_FILENAMES = join(folder, ICD);
  return env;
}
