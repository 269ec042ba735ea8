import { LabDevice } from '../../src/gpu/device.ts';

/** A text that a device was asked to compile, and the name of its file. */
export interface Text {
  label: string;
  code: string;
}

/** Kinds of devices for which the engine writes other texts. */
export const KINDS = {
  'a GPU': { software: false, quads: false },
  'a processor': { software: true, quads: false },
  'a processor with subgroups of 4 lanes': { software: true, quads: true },
} as const;

/**
 * A device that computes nothing and has memory without end: it keeps the texts that it is asked to compile, so that the
 * kernels of the largest models can be read on the smallest machine. What is read from it is 0.
 */
export function idleDevice(kind: { software: boolean; quads: boolean }): {
  device: LabDevice;
  texts: Map<string, Text>;
} {
  const texts = new Map<string, Text>();
  const nothing = (): void => undefined;
  const limits = { maxBufferSize: 2 ** 52, maxStorageBufferBindingSize: 2 ** 52 };
  const buffer = ({ size }: GPUBufferDescriptor) => ({
    size,
    destroy: nothing,
    unmap: nothing,
    mapAsync: async () => undefined,
    getMappedRange: () => new ArrayBuffer(size),
  });
  const pass = {
    setPipeline: nothing,
    setBindGroup: nothing,
    dispatchWorkgroups: nothing,
    end: nothing,
  };
  const encoder = {
    beginComputePass: () => pass,
    clearBuffer: nothing,
    copyBufferToBuffer: nothing,
    finish: () => ({}),
  };
  const gpu = {
    limits,
    features: new Set(),
    lost: new Promise(nothing),
    addEventListener: nothing,
    pushErrorScope: nothing,
    popErrorScope: async () => null,
    destroy: nothing,
    queue: { writeBuffer: nothing, submit: nothing, onSubmittedWorkDone: async () => undefined },
    createBuffer: buffer,
    createBindGroup: () => ({}),
    createCommandEncoder: () => encoder,
    createShaderModule: ({ label = '', code }: GPUShaderModuleDescriptor) => {
      texts.set(code, { label, code });
      return { getCompilationInfo: async () => ({ messages: [] }) };
    },
    createComputePipelineAsync: async () => ({ getBindGroupLayout: () => ({}) }),
  };
  const report = { name: 'idle', limits, features: [], ...kind };
  return { device: new LabDevice(gpu as unknown as GPUDevice, report), texts };
}
