import type { Method, RunSpec } from '../methods/method.ts';
import type { PolicyShape } from '../policy/engine.ts';

/** The memory that a run will take. */
export interface RunMemory {
  /** Weights of the student. */
  parameters: number;
  bytes: number;
  /** One sentence for a page or a terminal. */
  text: string;
  /** Whether every device with WebGPU's default limits, or a 32-bit memory, can hold it. */
  fits: boolean;
}

/** What WebGPU grants on every device: bytes of a buffer, and of one that a kernel binds. */
const DEFAULT_LIMITS = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 };
/** What a 32-bit WebAssembly memory holds. */
const WASM_LIMIT = 2 ** 32;

interface Demand {
  shape: PolicyShape;
  capacity: number;
  rollouts: number;
}

/**
 * Plans the memory of a run before it starts, from the method's own student: its policy and a sampler for its rollouts.
 * What depends on the tasks, the context, is the method's estimate. `null` where the method names no student, or the
 * processor has no WebAssembly SIMD: the float64 engine takes what each batch needs.
 * @param backend where the run will train: each has code of its own that allocates, and the plan is made by that code.
 */
export async function planRun(
  method: Method,
  spec: RunSpec,
  backend: 'webgpu' | 'cpu',
): Promise<RunMemory | null> {
  const student = method.student?.(spec);
  if (!student) return null;
  const { parameterCount } = await import('../policy/layout.ts');
  const parameters = parameterCount(student.shape);
  const planned = backend === 'webgpu' ? await onDevice(student) : await onProcessor(student);
  if (!planned) return null;
  const text = `The student of ${parameters.toLocaleString('en-US')} parameters ${planned.text}`;
  return { ...planned, parameters, text };
}

type Planned = Omit<RunMemory, 'parameters'>;

async function onDevice(student: Demand): Promise<Planned> {
  // Loaded when asked for: all kernels come with it.
  const { checkMemory, describeMemory, planMemory } = await import('../policy/webgpu/memoryPlan.ts');
  const plan = planMemory(student.shape, student);
  const text = `${describeMemory(plan)} on the graphics device.`;
  try {
    checkMemory(plan, DEFAULT_LIMITS);
    return { bytes: plan.total, text, fits: true };
  } catch (error) {
    return { bytes: plan.total, text: `${text} Not every device gives that: ${error}`, fits: false };
  }
}

async function onProcessor(student: Demand): Promise<Planned | null> {
  const { hasWasmSimd } = await import('../policy/wasm/kernels.ts');
  if (!hasWasmSimd()) return null;
  const { planWasmMemory } = await import('../policy/wasm/memoryPlan.ts');
  const bytes = await planWasmMemory(student.shape, student);
  const text = `needs about ${Math.ceil(bytes / 1e6).toLocaleString('en-US')} MB of the processor's memory.`;
  if (bytes <= WASM_LIMIT) return { bytes, text, fits: true };
  const remedy = 'lower the tokens a step, the rollouts decoded together or the width';
  return { bytes, text: `${text} WebAssembly holds 4,295 MB: ${remedy}.`, fits: false };
}
