import webgpuWasm from 'onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url';
import wasm from 'onnxruntime-web/ort-wasm-simd-threaded.wasm?url';
import type { OnnxProvider, OnnxRuntime } from '../src/policy/onnx/lm.ts';

/**
 * Loads ONNX Runtime Web, the build that a provider needs, from this page's own files: one thread (the page is not
 * isolated, so that threads could share no memory) and no worker of its own (this is one).
 */
export async function loadRuntime(provider: OnnxProvider): Promise<OnnxRuntime> {
  const runtime =
    provider === 'webgpu' ? await import('onnxruntime-web/webgpu') : await import('onnxruntime-web/wasm');
  runtime.env.wasm.wasmPaths = {
    wasm: new URL(provider === 'webgpu' ? webgpuWasm : wasm, location.href).href,
  };
  runtime.env.wasm.numThreads = 1;
  runtime.env.wasm.proxy = false;
  runtime.env.logLevel = 'error';
  return runtime;
}
