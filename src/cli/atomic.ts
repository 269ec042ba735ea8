import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Puts a file in its place in one step: written beside it, forced to the disk, renamed. Whenever the process or the
 * machine stops, the place holds the old file or the new one, whole.
 */
export function replaceFile(folder: string, name: string, content: string | Uint8Array): void {
  const draft = join(folder, `.${name}.tmp`);
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const file = openSync(draft, 'w');
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, join(folder, name));
  flushFolder(folder);
}

/** Forces what was written to a file to the disk; nothing where there is no such file. */
export function flush(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A rename lasts once its folder is on the disk. Windows cannot open folders and needs no such step. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
