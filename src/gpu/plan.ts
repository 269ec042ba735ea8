import { invariant } from '../base/errors.ts';
import { type Allocator, USAGE } from './memory.ts';
import type { Pipelines } from './pipelines.ts';

/** A whole buffer, or a part of one: `offset` and `size` in bytes, the offset a multiple of 256. */
export type Binding = GPUBuffer | GPUBufferBinding;

/** Sizes that differ from run to run, by name: how many rows, how many trained rows. */
export type Sizes = Readonly<Record<string, number>>;

/** How many threads a kernel needs at given sizes; 0 leaves the dispatch out. */
export type Threads = (sizes: Sizes) => number;

interface Step {
  label: string;
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  threads: Threads;
  workgroup: number;
}

/** A kernel to record: its text, what it binds (in order of @binding) and how many threads it runs. */
export interface Launch {
  label: string;
  code: string;
  bindings: readonly Binding[];
  threads: Threads;
  /** Words of a constant uniform, bound after `bindings`. */
  constants?: readonly number[];
}

/** What a plan uses of a compute pass. */
export type Pass = Pick<GPUComputePassEncoder, 'setPipeline' | 'setBindGroup' | 'dispatchWorkgroups'>;

/** Dispatches with their pipelines and bind groups, made once and encoded many times. */
export class Plan {
  readonly #steps: readonly Step[];

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }

  /** Names of the kernels in order, one a dispatch. */
  get labels(): string[] {
    return this.#steps.map((step) => step.label);
  }

  /** Encodes the steps in order: all of them, or the one numbered `only` (for measuring). */
  encode(pass: Pass, sizes: Sizes, only?: number): void {
    const steps = only === undefined ? this.#steps : this.#steps.slice(only, only + 1);
    for (const { label, pipeline, bindings, threads, workgroup } of steps) {
      const groups = Math.ceil(threads(sizes) / workgroup);
      if (groups === 0) continue;
      // Kernels flatten the grid as id.y · (groups in x) · size + id.x, so a long one may fold into y.
      const x = Math.min(groups, MOST_GROUPS);
      const y = Math.ceil(groups / x);
      invariant(y <= MOST_GROUPS, `${label} needs ${groups} workgroups`);
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(x, y);
    }
  }
}

/** Workgroups in one dimension that every WebGPU device grants. */
const MOST_GROUPS = 65535;

/**
 * Compiles all kernels at once and makes their bind groups.
 * @param memory owns the uniforms of the kernels' constants.
 * @throws LabError where a kernel does not compile.
 */
export async function recordPlan(
  device: GPUDevice,
  pipelines: Pick<Pipelines, 'get'>,
  memory: Allocator,
  launches: readonly Launch[],
): Promise<Plan> {
  const made = await Promise.all(launches.map(({ label, code }) => pipelines.get(label, code)));
  const uniforms = constantUniforms(memory, launches);
  const steps = launches.map(({ label, code, bindings, threads }, index): Step => {
    const pipeline = made[index]!;
    const uniform = uniforms[index];
    const all = uniform ? [...bindings, uniform] : bindings;
    const entries = all.map((binding, slot) => ({
      binding: slot,
      resource: 'buffer' in binding ? binding : { buffer: binding },
    }));
    const group = device.createBindGroup({ label, layout: pipeline.getBindGroupLayout(0), entries });
    return { label, pipeline, bindings: group, threads, workgroup: workgroupSize(label, code) };
  });
  return new Plan(steps);
}

/** Invocations of a workgroup, as the text itself says. */
function workgroupSize(label: string, code: string): number {
  const size = /@workgroup_size\((\d+)\)/.exec(code)?.[1];
  invariant(size, `${label} states no workgroup size`);
  return Number(size);
}

/** The uniforms of the kernels' constants, one a launch that has any: all that recording allocates. */
export function constantUniforms(memory: Allocator, launches: readonly Launch[]): (GPUBuffer | null)[] {
  return launches.map(({ label, constants }) => {
    if (!constants) return null;
    const buffer = memory.create(`${label} sizes`, constants.length * 4, USAGE.UNIFORM | USAGE.COPY_DST);
    memory.fill(buffer, () => new Uint32Array(constants));
    return buffer;
  });
}
