import { lostWhileReading } from './failure.ts';

/**
 * Copies `bytes` of a buffer from `offset` to the host. Waits for all work queued before.
 * @throws LabError where the device is lost meanwhile.
 */
export async function readBuffer(
  device: GPUDevice,
  source: GPUBuffer,
  bytes: number,
  offset = 0,
): Promise<ArrayBuffer> {
  const staging = device.createBuffer({
    size: bytes,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  try {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return staging.getMappedRange().slice(0);
  } catch (cause) {
    throw lostWhileReading(cause, device);
  } finally {
    staging.destroy();
  }
}
