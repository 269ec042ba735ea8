import { LabError } from '../../base/errors.ts';
import { hashHex } from '../../base/hash.ts';
import { fromBase64Url, toBase64Url } from '../../store/base64.ts';

/** Most bytes that a packed link may inflate to. */
export const MAX_INFLATED = 65_536;

/** Bytes given to the decompressor at a time. Deflate gains at most 1032:1, so no piece inflates past 66 kB. */
const PIECE = 64;

/** Digits of the hash that stands before the packed text, since deflate-raw has no checksum of its own. */
const CHECK = 8;

/** Text as base64url of deflate-raw, with a check in front so that damage is noticed. */
export async function pack(text: string): Promise<string> {
  const stream = new Blob([check(text) + text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return toBase64Url(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/**
 * Reads `pack`. Stops inflating as soon as `MAX_INFLATED` bytes are passed.
 * @throws LabError on text that was cut off, changed, or that inflates to too much.
 */
export async function unpack(packed: string): Promise<string> {
  const bytes = await inflate(readBase64(packed));
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw damaged(cause);
  }
  const content = text.slice(CHECK);
  if (text.slice(0, CHECK) !== check(content)) throw damaged();
  return content;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const { writable, readable } = new DecompressionStream('deflate-raw');
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const feeding = feed(writer, bytes);
  // Whatever goes wrong shows at the reader; these only keep the same failure from counting as unhandled.
  for (const promise of [feeding, writer.closed, writer.ready, reader.closed]) promise.catch(() => {});
  const pieces: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw damaged(cause);
    });
    if (done) break;
    total += value.byteLength;
    if (total > MAX_INFLATED) {
      await Promise.allSettled([reader.cancel(), writer.abort()]);
      throw new LabError(`The link unpacks to more than ${MAX_INFLATED} bytes; it was not opened`, {
        where: 'link',
        remedy: 'No link of the lab is that large. Ask whoever sent it for a new one.',
      });
    }
    pieces.push(value);
  }
  const out = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.byteLength;
  }
  return out;
}

function readBase64(packed: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64Url(packed);
  } catch (cause) {
    throw damaged(cause);
  }
}

async function feed(
  writer: WritableStreamDefaultWriter<BufferSource>,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let i = 0; i < bytes.length; i += PIECE) await writer.write(bytes.subarray(i, i + PIECE));
  await writer.close();
}

function check(text: string): string {
  return hashHex(text).slice(-CHECK);
}

function damaged(cause?: unknown): LabError {
  return new LabError('The link is damaged: it was cut off or changed on its way', {
    where: 'link',
    remedy: 'Copy it again in full, or ask for a new one.',
    cause,
  });
}
