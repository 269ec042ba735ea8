import { LabError } from '../base/errors.ts';

const nameOf = (error: unknown) =>
  error instanceof Error || error instanceof DOMException ? error.name : '';
const textOf = (error: unknown) =>
  error instanceof Error || error instanceof DOMException ? error.message : String(error);

/**
 * True where the connection went away under us, so that opening it again may help: Safari's "Connection to Indexed
 * Database server lost" (an UnknownError), or a connection that is closed or closing (InvalidStateError).
 */
export function isLost(error: unknown): boolean {
  const name = nameOf(error);
  return name === 'InvalidStateError' || (name === 'UnknownError' && /lost|connection/i.test(textOf(error)));
}

/** A failure of the browser's storage in words that help. A LabError stays what it is. */
export function storageError(error: unknown): LabError {
  if (error instanceof LabError) return error;
  const where = 'storage';
  switch (nameOf(error)) {
    case 'QuotaExceededError':
      return new LabError("The browser's storage for this site is full; nothing was changed", {
        where,
        remedy: 'Export what you want to keep, then delete runs you no longer need.',
        cause: error,
      });
    case 'DataCloneError':
      return new LabError('Something that is not plain data cannot be stored; nothing was changed', {
        where,
        remedy: 'This is a fault of the lab: please report it.',
        cause: error,
      });
    default:
      return new LabError(
        `The browser's storage failed (${textOf(error) || nameOf(error)}); nothing was changed`,
        {
          where,
          remedy: 'Try again; if it fails again, export your runs and reload the page.',
          cause: error,
        },
      );
  }
}
