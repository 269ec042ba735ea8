import { LabError } from '../base/errors.ts';

let dawn: GPU | undefined;

/** Dawn's GPU object in this Node process; kept, since devices die with it. @throws LabError where there is no adapter. */
export async function openDawn(): Promise<GPU> {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  dawn ??= create([]);
  if (!(await dawn.requestAdapter()))
    throw new LabError('Dawn finds no GPU adapter', {
      where: '--gpu dawn',
      remedy: 'install a Vulkan driver, or Chromium, whose software driver it can use',
    });
  return dawn;
}
