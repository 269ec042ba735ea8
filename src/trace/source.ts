import { LabError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import type { RawLine, TraceFile } from './bytes.ts';
import {
  chunksOf,
  decodeUtf8,
  hasBom,
  join,
  MAX_DOCUMENT,
  MAX_LINE,
  refuseNonJson,
  splitLines,
} from './bytes.ts';
import type { Entry } from './formats/format.ts';
import { parseJson } from './json.ts';
import type { Rejection } from './model.ts';

/** What a file gives while it is read: its records, what is wrong with it, how far the reading is. */
export type Step =
  | { type: 'entry'; entry: Entry }
  | { type: 'rejected'; rejection: Rejection }
  | { type: 'progress'; bytes: number };

/** Bytes taken in, and how many of them progress has been told of. */
interface Counter {
  bytes: number;
  reported: number;
}

type Carrier = 'lines' | 'document';

const FIRST_LOOK = 64 * 1024;
/** Bytes between two reports of progress. */
const STRIDE = 1024 * 1024;

/**
 * The records of a JSON or JSONL file: a line each, or the elements of a JSON array, or the one JSON value. Which of
 * the two it is follows from the content; only a broken first line makes the file's extension count.
 *
 * Lines are read one at a time, so that the size of a JSONL file does not matter; a bad line is rejected and the rest
 * goes on. A JSON document is parsed whole.
 *
 * @throws LabError where the file as a whole cannot be read: empty, binary, not JSON, not UTF-8, over `MAX_DOCUMENT`.
 */
export async function* readRecords(file: TraceFile): AsyncGenerator<Step> {
  const chunks = chunksOf(file.stream());
  try {
    const head: Uint8Array[] = [];
    const carrier = yield* lookAtHead(file.path, chunks, head);
    const counter = { bytes: 0, reported: head.reduce((sum, chunk) => sum + chunk.length, 0) };
    const all = counted(concat(head, chunks), counter);
    yield* carrier === 'lines' ? readLines(file.path, all, counter) : readDocument(file, all, counter);
    yield { type: 'progress', bytes: counter.bytes };
  } finally {
    await chunks.return(undefined);
  }
}

/** Collects chunks into `head` until it is clear what carries the records. The head doubles, so that a long first line costs linear time. */
async function* lookAtHead(
  path: string,
  chunks: AsyncGenerator<Uint8Array>,
  head: Uint8Array[],
): AsyncGenerator<Step, Carrier> {
  let length = 0;
  let reported = 0;
  for (let goal = FIRST_LOOK; ; goal *= 2) {
    let whole = false;
    while (length < goal && !whole) {
      const next = await chunks.next();
      if (next.done) whole = true;
      else {
        head.push(next.value);
        length += next.value.length;
      }
      if (length - reported >= STRIDE) {
        reported = length;
        yield { type: 'progress', bytes: length };
      }
    }
    const bytes = join(head);
    refuseNonJson(bytes, whole);
    const carrier = decideCarrier(bytes, whole, path);
    if (carrier) return carrier;
    head.splice(0, head.length, bytes);
  }
}

/** Null where more bytes are needed. */
function decideCarrier(head: Uint8Array, whole: boolean, path: string): Carrier | null {
  const start = skipSpace(head, hasBom(head) ? 3 : 0);
  const end = head.indexOf(10, start);
  const named = /\.(?:jsonl|ndjson)$/i.test(path);
  if (start === head.length || end < 0) {
    if (whole) return named ? 'lines' : 'document';
    if (head.length <= MAX_LINE) return null;
    return named ? 'lines' : 'document';
  }
  const second = skipSpace(head, end);
  if (second === head.length) {
    if (!whole) return null;
    return named ? 'lines' : 'document';
  }
  if (isJson(head.subarray(start, end))) return 'lines';
  if (skipSpace(head.subarray(0, end), start + 1) === end) return 'document';
  if (named) return 'lines';
  const secondEnd = head.indexOf(10, second);
  if (secondEnd < 0 && !whole) return 'document';
  const line = head.subarray(second, secondEnd < 0 ? head.length : secondEnd);
  return line[0] === 0x7b && isJson(line) ? 'lines' : 'document';
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && [32, 9, 10, 13].includes(bytes[at] as number)) at++;
  return at;
}

function isJson(bytes: Uint8Array): boolean {
  try {
    parseJson(decodeUtf8(bytes, 0));
    return true;
  } catch (error) {
    if (error instanceof LabError) return false;
    throw error;
  }
}

async function* readLines(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  counter: Counter,
): AsyncGenerator<Step> {
  for await (const line of splitLines(chunks)) {
    const step = readLine(path, line);
    if (step) yield step;
    if (counter.bytes - counter.reported >= STRIDE) {
      counter.reported = counter.bytes;
      yield { type: 'progress', bytes: counter.bytes };
    }
  }
}

/** Null for a blank line. */
function readLine(path: string, line: RawLine): Step | null {
  const where = `line ${line.number}`;
  if (!line.bytes) {
    const reason = `a line of ${megabytes(line.length)} MB; lines up to ${megabytes(MAX_LINE)} MB are read`;
    return { type: 'rejected', rejection: { path, where, reason } };
  }
  try {
    const text = decodeUtf8(line.bytes, line.byte);
    if (text.trim() === '') return null;
    return { type: 'entry', entry: { value: parseJson(text), place: { file: path, line: line.number } } };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    const detail = error.where ? `, ${error.where}` : '';
    return { type: 'rejected', rejection: { path, where: `${where}${detail}`, reason: error.message } };
  }
}

async function* readDocument(
  file: TraceFile,
  chunks: AsyncIterable<Uint8Array>,
  counter: Counter,
): AsyncGenerator<Step> {
  const pieces: Uint8Array[] = [];
  refuseLarge(file.size);
  for await (const chunk of chunks) {
    pieces.push(chunk);
    refuseLarge(counter.bytes);
    if (counter.bytes - counter.reported >= STRIDE) {
      counter.reported = counter.bytes;
      yield { type: 'progress', bytes: counter.bytes };
    }
  }
  const document = parseDocument(pieces);
  const place = { file: file.path };
  if (!Array.isArray(document)) {
    yield { type: 'entry', entry: { value: document, place } };
    return;
  }
  for (let i = 0; i < document.length; i++) {
    yield { type: 'entry', entry: { value: document[i] as Json, place: { ...place, field: `[${i}]` } } };
  }
}

/** Joins, decodes and parses, letting go of the bytes on the way. */
function parseDocument(pieces: Uint8Array[]): Json {
  const bytes = join(pieces.splice(0, pieces.length));
  return parseJson(decodeUtf8(bytes, 0));
}

function refuseLarge(size: number): void {
  if (size <= MAX_DOCUMENT) return;
  throw new LabError(
    `a JSON document of ${megabytes(size)} MB; documents up to ${megabytes(MAX_DOCUMENT)} MB are read`,
    { where: 'byte 0', remedy: 'split it, or save one record a line as .jsonl: lines are read one by one' },
  );
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / (1024 * 1024));
}

async function* counted(chunks: AsyncIterable<Uint8Array>, counter: Counter): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    counter.bytes += chunk.length;
    yield chunk;
  }
}

async function* concat(head: Uint8Array[], rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let chunk = head.shift(); chunk; chunk = head.shift()) yield chunk;
  yield* rest;
}
