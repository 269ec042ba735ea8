import type { DeviceChoice } from '../../../workers/engine.ts';

const KEY = 'rollout-lab/device';
export const CHOICES: readonly { value: DeviceChoice; label: string }[] = [
  { value: 'auto', label: 'whatever is faster here' },
  { value: 'webgpu', label: 'the graphics device (WebGPU)' },
  { value: 'cpu', label: 'the processor (WebAssembly)' },
];

/** What the reader wants policies to train on; `auto` where nothing was said or the browser keeps nothing. */
export function storedChoice(): DeviceChoice {
  try {
    const value = localStorage.getItem(KEY);
    return CHOICES.find((choice) => choice.value === value)?.value ?? 'auto';
  } catch {
    return 'auto';
  }
}

/** Keeps it for the next visit where the browser allows it. */
export function keepChoice(choice: DeviceChoice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // A browser that keeps nothing forgets the choice too.
  }
}
