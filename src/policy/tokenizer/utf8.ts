/**
 * Bytes as stretches of UTF-8, decoded, and single bytes that belong to none. Well-formed sequences are those of the Unicode
 * Standard, table 3-7: none longer than need be, no surrogates, nothing above U+10FFFF.
 */
export function* utf8Runs(bytes: Uint8Array): Generator<string | number, void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > from) yield decoder.decode(bytes.subarray(from, at));
    yield bytes[at]!;
    from = ++at;
  }
  if (from < bytes.length) yield decoder.decode(bytes.subarray(from));
}

/** Length of the well-formed sequence that begins here; 0 where none does. */
function lengthAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  const length =
    lead >= 0xc2 && lead <= 0xdf ? 2 : lead >> 4 === 0xe ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const second = bytes[at + 1]!;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let i = 2; i < length; i++) if (bytes[at + i]! >> 6 !== 2) return 0;
  return length;
}
