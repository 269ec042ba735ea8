import { LabError } from '../base/errors.ts';

/** Bytes that are turned into text at a time; more would overflow the argument list of `fromCharCode`. */
const PIECE = 0x6000;

/** Bytes as base64 (RFC 4648 §4, with padding). */
export function toBase64(bytes: Uint8Array): string {
  let out = '';
  for (let i = 0; i < bytes.length; i += PIECE)
    out += btoa(String.fromCharCode(...bytes.subarray(i, i + PIECE)));
  return out;
}

/** Reads `toBase64`. @throws LabError on anything that is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw notBase64();
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw notBase64();
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Bytes as base64url without padding (RFC 4648 §5): safe in addresses. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads `toBase64Url`. @throws LabError on anything that is not base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw notBase64();
  return fromBase64(
    `${text.replaceAll('-', '+').replaceAll('_', '/')}${'='.repeat((4 - (text.length % 4)) % 4)}`,
  );
}

function notBase64(): LabError {
  return new LabError('The packed data is damaged: it is not base64', {
    remedy: 'Fetch the link or the file again.',
  });
}
