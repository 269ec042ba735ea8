import type { LoadRuntime } from '../../lab/bench/peers/ortPeer.ts';

/**
 * Lets libraries that are written for browsers run in this process: they look for `navigator`, which Node 20 does not
 * have, and ONNX Runtime uploads from shared memory, which Dawn in Node refuses ("Invalid argument"), so such data is
 * copied first.
 * @param gpu Dawn's GPU object, on which the libraries open devices of their own; `null` where there is none.
 */
export function pretendBrowser(gpu: GPU | null): void {
  const navigator = { gpu, userAgent: 'Node.js', hardwareConcurrency: 1 };
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
  if (!gpu || uploadsShared) return;
  uploadsShared = true;
  const { writeBuffer } = GPUQueue.prototype;
  GPUQueue.prototype.writeBuffer = function (buffer, offset, data, dataOffset, size) {
    return writeBuffer.call(this, buffer, offset, unshared(data), dataOffset, size);
  };
}

let uploadsShared = false;

type Data = Parameters<GPUQueue['writeBuffer']>[2];

function unshared(data: Data): Data {
  const shared = data instanceof Uint8Array && data.buffer instanceof SharedArrayBuffer;
  return shared ? data.slice() : data;
}

/** ONNX Runtime Web from the installed package, on one thread. */
export const loadRuntime: LoadRuntime = async (provider) => {
  const runtime =
    provider === 'webgpu' ? await import('onnxruntime-web/webgpu') : await import('onnxruntime-web/wasm');
  runtime.env.wasm.numThreads = 1;
  return runtime;
};
