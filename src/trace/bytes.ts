import { LabError } from '../base/errors.ts';

/** A file wherever it lies: a browser's `File`, a path in Node, a buffer in a test. */
export interface TraceFile {
  path: string;
  /** Bytes. */
  size: number;
  stream(): ReadableStream<Uint8Array>;
}

/** The longest line that is read, in bytes. A line of a session may hold a picture in base64. */
export const MAX_LINE = 32 * 1024 * 1024;
/** The largest JSON document that is read, in bytes: V8 ends strings at 2^29 − 24 units, and objects cost several times their text. */
export const MAX_DOCUMENT = 256 * 1024 * 1024;

/** A line before decoding; `bytes` is null where it is longer than `MAX_LINE` (its content is not kept). */
export interface RawLine {
  /** Counts from 1. */
  number: number;
  /** Offset of its first byte. */
  byte: number;
  length: number;
  bytes: Uint8Array | null;
}

/** The chunks of a stream. Leaving the loop early cancels the stream. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Splits bytes at LF; a CR before it and a byte order mark at the start of the file belong to no line. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawLine> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let number = 1;
  let byte = 0;
  const take = (piece: Uint8Array): void => {
    length += piece.length;
    if (length > MAX_LINE) pieces = [];
    else pieces.push(piece);
  };
  const finish = (): RawLine => {
    const bytes = length > MAX_LINE ? null : trimLine(join(pieces), number === 1);
    return { number, byte, length, bytes };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end));
      yield finish();
      byte += length + 1;
      number++;
      pieces = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  if (length > 0) yield finish();
}

function trimLine(bytes: Uint8Array, first: boolean): Uint8Array {
  const start = first && hasBom(bytes) ? 3 : 0;
  const end = bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length;
  return bytes.subarray(start, end);
}

/** One array of many. A single piece is returned as it is. */
export function join(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

/** True where the bytes start with the UTF-8 byte order mark. */
export function hasBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

const STRICT = new TextDecoder('utf-8', { fatal: true });

/**
 * Text of UTF-8 bytes (a byte order mark is dropped).
 * @param offset where the bytes start in their file
 * @throws LabError with the offset of the first byte that is not UTF-8: a silent U+FFFD would merge identifiers.
 */
export function decodeUtf8(bytes: Uint8Array, offset: number): string {
  try {
    return STRICT.decode(bytes);
  } catch (cause) {
    const bad = offset + findInvalidUtf8(bytes);
    throw new LabError('not UTF-8', { where: `byte ${bad}`, remedy: 'save the file as UTF-8', cause });
  }
}

/** Offset of the first sequence that is not UTF-8 (RFC 3629), or the length where all is well. */
function findInvalidUtf8(bytes: Uint8Array): number {
  // Halve: a prefix is fine where it decodes as the start of a stream.
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return good;
}

/**
 * Refuses at once what cannot be JSON, by its first bytes.
 * @throws LabError for an empty file, an archive, UTF-16, other binary data, and text that does not start as JSON does.
 */
export function refuseNonJson(head: Uint8Array, whole: boolean): void {
  if (head[0] === 0x1f && head[1] === 0x8b) throw refuse('a gzip archive', 'unpack it first');
  if (head[0] === 0x50 && head[1] === 0x4b && head[2] === 3) throw refuse('a zip archive', 'unpack it first');
  const mark = (head[0] ?? 0) * 256 + (head[1] ?? 0);
  if (mark === 0xfffe || mark === 0xfeff) throw refuse('UTF-16 text', 'save the file as UTF-8');
  const nul = head.indexOf(0);
  if (nul >= 0) throw refuse('binary data (a zero byte)', 'choose a JSON or JSONL file', nul);
  const start = hasBom(head) ? 3 : 0;
  const first = head.findIndex(
    (byte, i) => i >= start && byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13,
  );
  if (first < 0) {
    if (whole) throw refuse('an empty file', 'choose a file with traces');
    return;
  }
  if (!'{["-0123456789tfn'.includes(String.fromCharCode(head[first] as number))) {
    throw refuse('not JSON: expected { or [', 'choose a JSON or JSONL file', first);
  }
}

function refuse(what: string, remedy: string, byte = 0): LabError {
  return new LabError(what, { where: `byte ${byte}`, remedy });
}
