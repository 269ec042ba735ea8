import { LabError } from '../base/errors.ts';
import type { DeviceLoss } from './report.ts';

/** Devices that this code destroyed itself: what breaks on them afterwards is no failure. */
const closed = new WeakSet<GPUDevice>();

/** Notes that a device is about to be destroyed on purpose. */
export function noteClosed(device: GPUDevice): void {
  closed.add(device);
}

/** Milliseconds given to the news that a device is lost, which may come after the errors that it causes. */
const NEWS = 250;

const REMEDY = 'open a new device and load the last checkpoint';

/** The error that a lost device is; of no kind where this code destroyed it, for then nothing failed. */
export function deviceLost({ own, message }: DeviceLoss, where: string, cause?: unknown): LabError {
  if (own)
    return new LabError('the graphics device was closed', { where, remedy: 'open another one', cause });
  return new LabError(`the graphics device was lost${message ? `: ${message}` : ''}`, {
    where,
    remedy: REMEDY,
    kind: 'device lost',
    cause,
  });
}

/** What a failed `mapAsync` means. */
export function lostWhileReading(cause: unknown, device: GPUDevice): LabError {
  return new LabError('the graphics device was lost while its results were read', {
    where: 'device',
    remedy: REMEDY,
    kind: closed.has(device) ? null : 'device lost',
    cause,
  });
}

/** The error to throw in the place of `error`: on a lost device everything fails, in words that do not say why. */
export async function explain(
  error: unknown,
  device: { readonly lost: Promise<DeviceLoss> },
  where: string,
): Promise<unknown> {
  if (error instanceof LabError && error.kind !== null) return error;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), NEWS);
  });
  const loss = await Promise.race([device.lost, silence]);
  clearTimeout(timer);
  return loss && !loss.own ? deviceLost(loss, where, error) : error;
}
