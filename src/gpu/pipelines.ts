import { LabError } from '../base/errors.ts';

/** Compute pipelines of one device by their WGSL text, compiled asynchronously and once. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #cache = new Map<string, Promise<GPUComputePipeline>>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** How many distinct kernels were asked for. */
  get count(): number {
    return this.#cache.size;
  }

  /**
   * The pipeline of a kernel whose entry point is `main`.
   * @throws LabError with the compiler's messages where the device refuses the text.
   */
  get(label: string, code: string): Promise<GPUComputePipeline> {
    const held = this.#cache.get(code);
    if (held) return held;
    const made = this.#compile(label, code);
    this.#cache.set(code, made);
    // A failed compilation (a lost device) must not be remembered.
    made.catch(() => this.#cache.delete(code));
    return made;
  }

  async #compile(label: string, code: string): Promise<GPUComputePipeline> {
    // What this kernel does wrong is told to who asked for it; uncaught, it would count against the whole device.
    this.#device.pushErrorScope('validation');
    const module = this.#device.createShaderModule({ label, code });
    const scope = this.#device.popErrorScope().catch(() => null);
    try {
      return await this.#device.createComputePipelineAsync({
        label,
        layout: 'auto',
        compute: { module, entryPoint: 'main' },
      });
    } catch (cause) {
      await scope;
      const { messages } = await module.getCompilationInfo();
      const text = messages.map((m) => `line ${m.lineNum}: ${m.message}`).join('; ');
      throw new LabError(`the kernel does not compile: ${text || String(cause)}`, {
        where: `shaders/${label}`,
        remedy: 'try another browser, and report this with the name of the graphics device',
        cause,
      });
    }
  }
}
