import { LabError } from '../base/errors.ts';
import type { PolicyShape } from './engine.ts';
import { checkShape } from './shape.ts';

/** Sizes by their count of parameters. */
export type PresetSize = '20k' | '100k' | '400k' | '1M' | '3M' | '10M';

/** A shape and what it is used with. */
export interface ShapePreset {
  shape: PolicyShape;
  /** Tokens a step: at least one sequence of full context. */
  capacity: number;
  /** Rollouts decoded together: their key/value cache stays within 128 MiB a buffer. */
  rollouts: number;
}

/** The largest vocabulary and context that presets are made and tested for. */
export const LARGEST_VOCAB = 32_768;
export const LARGEST_CONTEXT = 2048;

/**
 * From a shape that trains in seconds on any processor to one that keeps a graphics device busy. Gated MLPs from 100k on,
 * F ≈ 8/3·D so that they cost what F = 4·D costs without a gate (Shazeer 2020, section 3.1); heads of width 16 to 32.
 */
export const PRESETS: Readonly<Record<PresetSize, Readonly<ShapePreset>>> = {
  '20k': {
    shape: { vocab: 256, width: 32, layers: 1, heads: 2, hidden: 128, mlp: 'gelu', context: 128 },
    capacity: 1024,
    rollouts: 128,
  },
  '100k': {
    shape: { vocab: 128, width: 64, layers: 2, heads: 4, hidden: 172, mlp: 'swiglu', context: 256 },
    capacity: 1024,
    rollouts: 128,
  },
  '400k': {
    shape: { vocab: 512, width: 96, layers: 3, heads: 4, hidden: 256, mlp: 'swiglu', context: 512 },
    capacity: 2048,
    rollouts: 128,
  },
  '1M': {
    shape: { vocab: 2048, width: 128, layers: 4, heads: 4, hidden: 344, mlp: 'swiglu', context: 1024 },
    capacity: 2048,
    rollouts: 64,
  },
  '3M': {
    shape: { vocab: 4096, width: 192, layers: 5, heads: 6, hidden: 512, mlp: 'swiglu', context: 1024 },
    capacity: 2048,
    rollouts: 64,
  },
  '10M': {
    shape: { vocab: 8192, width: 320, layers: 6, heads: 10, hidden: 852, mlp: 'swiglu', context: 2048 },
    capacity: 2048,
    rollouts: 32,
  },
};

/**
 * A preset for another vocabulary or context. Rollouts are halved until one layer's keys stay within 128 MiB.
 * @throws LabError where the vocabulary exceeds 32,768, the context 2,048, or either is no whole number ≥ 1.
 */
export function presetFor(size: PresetSize, changes: { vocab?: number; context?: number }): ShapePreset {
  const preset = PRESETS[size];
  const shape = { ...preset.shape, ...changes };
  checkShape(shape);
  for (const [field, most] of [
    ['vocab', LARGEST_VOCAB],
    ['context', LARGEST_CONTEXT],
  ] as const)
    if (shape[field] > most)
      throw new LabError(`${field} is ${shape[field]}`, {
        where: `shape.${field}`,
        remedy: `presets go up to ${most.toLocaleString('en-US')}`,
      });
  let { rollouts } = preset;
  while (rollouts * shape.context * shape.width * 4 > 2 ** 27) rollouts /= 2;
  return { shape, capacity: Math.max(preset.capacity, shape.context), rollouts };
}
