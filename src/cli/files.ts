import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { TraceSource } from '../lab/services.ts';
import { UsageError } from './usage.ts';

/** A file on disk as the readers take it. */
export function openFile(path: string): TraceSource {
  return {
    path,
    size: statSync(path).size,
    stream: () => Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>,
  };
}

/** The files that the operands name, folders walked in name order; hidden files left out. @throws UsageError for a path that is not there. */
export function findFiles(operands: readonly string[]): TraceSource[] {
  return operands.flatMap((operand) => {
    let stat: ReturnType<typeof statSync>;
    try {
      stat = statSync(operand);
    } catch {
      throw new UsageError(`There is no file or folder ${operand}.`);
    }
    return stat.isDirectory() ? walkFolder(operand).map(openFile) : [openFile(operand)];
  });
}

function walkFolder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return walkFolder(path);
      return entry.isFile() ? [path] : [];
    });
}
