import { LabError } from '../base/errors.ts';

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
    throw lostWhileReading(cause);
  } finally {
    staging.destroy();
  }
}

/** What a failed `mapAsync` means. */
export function lostWhileReading(cause: unknown): LabError {
  return new LabError('the graphics device was lost while its results were read', {
    where: 'device',
    remedy: 'open a new device and load the last checkpoint',
    cause,
  });
}
