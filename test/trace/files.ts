import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TraceFile } from '../../src/trace/bytes.ts';
import type { Rejection, Trajectory } from '../../src/trace/model.ts';
import type { ReadEvent } from '../../src/trace/read.ts';
import { readTraces } from '../../src/trace/read.ts';

/** Real traces beside the checkout; tests that need them are skipped where they are not. */
export const DATA = new URL('../../../shared/data/traces/', import.meta.url).pathname;
export const HAS_DATA = existsSync(DATA);

const CHUNK = 64 * 1024;

/** A file of bytes or text, streamed in chunks as a browser does. */
export function fileOf(path: string, content: string | Uint8Array, chunk = CHUNK): TraceFile {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return {
    path,
    size: bytes.length,
    stream() {
      let at = 0;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at >= bytes.length) return controller.close();
          controller.enqueue(bytes.slice(at, at + chunk));
          at += chunk;
        },
      });
    },
  };
}

/** A file of the data folder. */
export function dataFile(path: string): TraceFile {
  return fileOf(path, readFileSync(join(DATA, path)));
}

/** The files of a data folder with one of the extensions, by path, in order. */
export function dataPaths(folder: string, extension: RegExp): string[] {
  return readdirSync(join(DATA, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => extension.test(path) && statSync(join(DATA, path)).isFile())
    .sort();
}

export interface Reading {
  format: string | null;
  trajectories: Trajectory[];
  rejections: Rejection[];
  progress: number[];
}

/** Everything that reading a file tells. */
export async function readAll(file: TraceFile): Promise<Reading> {
  const reading: Reading = { format: null, trajectories: [], rejections: [], progress: [] };
  for await (const event of readTraces(file)) note(reading, event);
  return reading;
}

function note(reading: Reading, event: ReadEvent): void {
  if (event.type === 'trajectory') reading.trajectories.push(event.trajectory);
  else if (event.type === 'rejected') reading.rejections.push(event.rejection);
  else if (event.type === 'progress') reading.progress.push(event.bytes);
  else reading.format = event.format;
}
