import { loadJax } from './jaxPeer.ts';
import { type LoadRuntime, loadOrt } from './ortPeer.ts';
import type { Peer, PeerName } from './peer.ts';
import { loadTfjs } from './tfjsPeer.ts';

/**
 * Loads a library on the graphics device, or on the processor where there is none. Each opens a device of its own on
 * the same adapter.
 * @returns what hinders it, as a sentence, where it does not load
 */
export async function loadPeer(
  name: PeerName,
  gpu: boolean,
  loadRuntime: LoadRuntime,
): Promise<Peer | string> {
  if (name === 'tfjs' && !gpu)
    return 'tfjs: compared on WebGPU alone; its processor backend is plain JavaScript';
  try {
    if (name === 'jax-js') return await loadJax(gpu ? 'webgpu' : 'wasm');
    if (name === 'tfjs') return await loadTfjs();
    return await loadOrt(gpu ? 'webgpu' : 'wasm', loadRuntime);
  } catch (error) {
    return `${name}: does not load here (${error instanceof Error ? error.message : String(error)})`;
  }
}
