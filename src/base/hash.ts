/**
 * 53-bit non-cryptographic string hash (cyrb53 construction: two 32-bit multiply–xor lanes, mixed at the end).
 * Used for seeds and for identities of content, never for security.
 */
export function hash53(text: string, seed = 0): number {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

/** `hash53` as 14 hexadecimal digits: the short name of a task set, a graph or a configuration. */
export function hashHex(text: string): string {
  return hash53(text).toString(16).padStart(14, '0');
}
