/** Byte-level spelling: one printable character for each byte, so that a token of any bytes is a word of a text file. */

const PRINTABLE: readonly (readonly [number, number])[] = [
  [0x21, 0x7e],
  [0xa1, 0xac],
  [0xae, 0xff],
];

/**
 * The character that stands for each byte [256]: itself where Latin-1 prints it, else U+0100 and on in order of bytes.
 * Source: the encoder of GPT-2 (Radford et al. 2019, released code), used by every byte-level tokenizer.json.
 */
export const BYTE_CHARS: readonly string[] = (() => {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const printed = PRINTABLE.some(([from, to]) => byte >= from && byte <= to);
    return String.fromCharCode(printed ? byte : next++);
  });
})();

/** Byte that each code below U+0200 stands for, −1 for none. */
const BYTES = new Int16Array(0x200).fill(-1);
for (const [byte, char] of BYTE_CHARS.entries()) BYTES[char.charCodeAt(0)] = byte;
const encoder = new TextEncoder();

/** UTF-8 of a text; U+FFFD for a lone surrogate. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Bytes spelled in the alphabet, bytes [from, to). */
export function spellBytes(bytes: Uint8Array, from = 0, to = bytes.length): string {
  let spelled = '';
  for (let i = from; i < to; i++) spelled += BYTE_CHARS[bytes[i]!];
  return spelled;
}

/** The bytes that a token spells; null where one of its characters stands for no byte. */
export function readSpelled(token: string): Uint8Array | null {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = BYTES[token.charCodeAt(i)] ?? -1;
    if (byte < 0) return null;
    bytes[i] = byte;
  }
  return bytes;
}
