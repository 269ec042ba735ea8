import type { PolicyEngine, PolicyShape } from '../engine.ts';
import { createCpuEngine } from '../twin/engine.ts';
import { createWasmEngine } from './engine.ts';
import { hasWasmSimd } from './kernels.ts';

/** What trains on the processor here. */
export const cpuName = (): string => (hasWasmSimd() ? 'WebAssembly SIMD' : 'JavaScript, float64');

/** A policy on the processor: in WebAssembly SIMD, or on the float64 twins where there is none. */
export async function openCpuEngine(
  shape: PolicyShape,
  options: { capacity?: number } = {},
): Promise<PolicyEngine> {
  return hasWasmSimd() ? createWasmEngine(shape, options) : createCpuEngine(shape, options);
}
