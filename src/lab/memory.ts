import type { Method, RunSpec } from '../methods/method.ts';

/** The memory that a run will take on the graphics device. */
export interface RunMemory {
  /** Weights of the student. */
  parameters: number;
  bytes: number;
  /** One sentence for a page or a terminal. */
  text: string;
  /** Whether every device with WebGPU's default limits can hold it. */
  fits: boolean;
}

/** What WebGPU grants on every device: bytes of a buffer, and of one that a kernel binds. */
const DEFAULT_LIMITS = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 };

/**
 * Plans the memory of a run before it starts, from the method's own student: its policy and a sampler for its rollouts.
 * What depends on the tasks, the context, is the method's estimate. `null` where the method names no student.
 */
export async function planRun(method: Method, spec: RunSpec): Promise<RunMemory | null> {
  const student = method.student?.(spec);
  if (!student) return null;
  // Loaded when asked for: the plan is made by the code that allocates, all kernels with it.
  const { checkMemory, describeMemory, planMemory } = await import('../policy/webgpu/memoryPlan.ts');
  const { parameterCount } = await import('../policy/layout.ts');
  const plan = planMemory(student.shape, student);
  const parameters = parameterCount(student.shape);
  const text = `The student of ${parameters.toLocaleString('en-US')} parameters ${describeMemory(plan)} on the graphics device.`;
  try {
    checkMemory(plan, DEFAULT_LIMITS);
    return { parameters, bytes: plan.total, text, fits: true };
  } catch (error) {
    return {
      parameters,
      bytes: plan.total,
      text: `${text} Not every device gives that: ${error}`,
      fits: false,
    };
  }
}
