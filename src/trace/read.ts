import { LabError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { reject } from './builder.ts';
import type { TraceFile } from './bytes.ts';
import { isToolCatalogue } from './catalogue.ts';
import type { Entry, Format, Found, Reader } from './formats/format.ts';
import { formats } from './formats/index.ts';
import type { Rejection } from './model.ts';
import type { Step } from './source.ts';
import { readRecords } from './source.ts';

export type { TraceFile } from './bytes.ts';
export { formats } from './formats/index.ts';

/** What is told while a file is read, in the order in which it is found. */
export type ReadEvent =
  | Found
  /** Bytes taken in so far, and the size of the file. */
  | { type: 'progress'; bytes: number; total: number }
  /** Id of the format, once it is known; not told where none fits. */
  | { type: 'format'; format: string; path: string };

/** Records and bytes that are looked at before the format is decided. */
const PEEK_RECORDS = 64;
const PEEK_BYTES = 4 * 1024 * 1024;
/** Rejections told one by one; the rest of a file's are counted. */
const MAX_REJECTIONS = 100;

/**
 * Reads the trajectories of a file, whatever its format. Nothing that stands in the file makes this throw: what cannot
 * be read becomes a rejection with its place and reason, and the rest is read. Gives way to the event loop at every
 * report of progress (each megabyte) and every 50 ms between trajectories. Stop early by leaving the loop.
 */
export async function* readTraces(file: TraceFile): AsyncGenerator<ReadEvent> {
  let rejections = 0;
  for await (const event of readGuarded(file)) {
    if (event.type === 'rejected' && ++rejections > MAX_REJECTIONS) continue;
    yield event;
  }
  if (rejections > MAX_REJECTIONS) {
    const reason = `${rejections - MAX_REJECTIONS} more rejections in this file`;
    yield { type: 'rejected', rejection: { path: file.path, where: '', reason } };
  }
}

async function* readGuarded(file: TraceFile): AsyncGenerator<ReadEvent> {
  try {
    yield* readFile(file);
  } catch (error) {
    // Also what is no LabError, as a file that vanished or a disk that failed: other files go on.
    yield { type: 'rejected', rejection: rejectionOf(file.path, error) };
  }
}

async function* readFile(file: TraceFile): AsyncGenerator<ReadEvent> {
  const total = file.size;
  let reader: Reader | null = null;
  let bytes = 0;
  const held: Step[] = [];
  for await (const step of readRecords(file)) {
    if (step.type === 'progress') {
      bytes = step.bytes;
      yield { type: 'progress', bytes, total };
      await giveWay();
      continue;
    }
    if (reader) {
      yield* paced(take(reader, step));
      continue;
    }
    held.push(step);
    if (held.length < PEEK_RECORDS && bytes < PEEK_BYTES) continue;
    reader = yield* decide(file.path, held);
    if (!reader) return;
  }
  reader ??= yield* decide(file.path, held);
  if (reader) yield* paced(reader.end());
}

/** Detects the format and reads what was held back, emptying it; null where no format fits. */
async function* decide(path: string, held: Step[]): AsyncGenerator<ReadEvent, Reader | null> {
  const entries = held.flatMap((step) => (step.type === 'entry' ? [step.entry] : []));
  const format = detectFormat(entries);
  if (!format) {
    yield* held.filter((step) => step.type === 'rejected').slice(0, 3);
    if (entries[0]) yield unknownShape(entries[0], path);
    else if (held.length === 0)
      yield { type: 'rejected', rejection: { path, where: '', reason: 'an empty list' } };
    return null;
  }
  yield { type: 'format', format: format.id, path };
  const reader = format.open(path);
  for (let step = held.shift(); step; step = held.shift()) yield* paced(take(reader, step));
  return reader;
}

/** The format of a file by its first records; null where none fits. */
export function detectFormat(entries: readonly Entry[]): Format | null {
  const records = entries.map((entry) => entry.value);
  return formats.find((format) => format.detect(records)) ?? null;
}

function* take(reader: Reader, step: Step): Generator<ReadEvent> {
  if (step.type === 'rejected') yield step;
  if (step.type !== 'entry') return;
  try {
    yield* reader.push(step.entry);
  } catch (error) {
    const { reason, where } = rejectionOf(step.entry.place.file, error);
    yield reject(step.entry.place, where ? `${reason} (${where})` : reason);
  }
}

function rejectionOf(path: string, error: unknown): Rejection {
  if (error instanceof LabError) {
    const reason = error.remedy ? `${error.message}; ${error.remedy}` : error.message;
    return { path, where: error.where, reason };
  }
  return {
    path,
    where: '',
    reason: `could not be read: ${error instanceof Error ? error.message : String(error)}`,
  };
}

function unknownShape(entry: Entry, path: string): Found {
  const { value } = entry;
  if (isToolCatalogue(value)) {
    return { type: 'rejected', rejection: { path, where: '', reason: 'a catalogue of tools, not a trace' } };
  }
  const keys = isObject(value) ? Object.keys(value).slice(0, 8) : [];
  const found = isObject(value)
    ? `an object with ${keys.length > 0 ? `the fields ${keys.map((key) => key.slice(0, 40)).join(', ')}` : 'no field'}`
    : Array.isArray(value)
      ? 'a list'
      : value === null
        ? 'null'
        : `a ${typeof value}`;
  return reject(
    entry.place,
    `the shape of no known format: ${found}; known are ${formats.map((f) => f.title).join(', ')}`,
  );
}

/** The same events, with a pause for the thread's other work wherever 50 ms have gone by. Pace alone depends on the clock. */
async function* paced(events: Iterable<ReadEvent>): AsyncGenerator<ReadEvent> {
  for (const event of events) {
    yield event;
    if (performance.now() - lastPause > 50) await giveWay();
  }
}

/** When this thread last gave way. */
let lastPause = 0;

/** Lets timers and messages of the thread run. */
async function giveWay(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
  lastPause = performance.now();
}
