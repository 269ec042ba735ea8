/** A Python string literal: its value, where it ends, and whether its closing quote was there. */
export interface PythonString {
  value: string;
  end: number;
  closed: boolean;
}

const SIMPLE: Record<string, string> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  0: '\0',
  '\n': '',
};

/**
 * Reads the string literal that `repr` of Python 3 writes at `open` (Language Reference, §2.4.1): quotes of either
 * kind, `\xhh`, `\uhhhh`, `\Uhhhhhhhh` and the one-letter escapes. A text that was cut off gives what there is.
 */
export function readPythonString(text: string, open: number): PythonString {
  const quote = text.charAt(open);
  const pieces: string[] = [];
  let start = open + 1;
  for (let at = start; at < text.length; ) {
    const unit = text.charAt(at);
    if (unit === quote) {
      pieces.push(text.slice(start, at));
      return { value: pieces.join(''), end: at + 1, closed: true };
    }
    if (unit !== '\\') {
      at++;
      continue;
    }
    pieces.push(text.slice(start, at));
    const read = readEscape(text, at + 1);
    pieces.push(read.value);
    at += 1 + read.length;
    start = at;
  }
  pieces.push(text.slice(start));
  return { value: pieces.join(''), end: text.length, closed: false };
}

/** The escape after a backslash; `length` without the backslash. An unknown one stands for itself, as in Python. */
function readEscape(text: string, at: number): { value: string; length: number } {
  const kind = text.charAt(at);
  const digits = kind === 'x' ? 2 : kind === 'u' ? 4 : kind === 'U' ? 8 : 0;
  if (digits > 0) {
    const hex = text.slice(at + 1, at + 1 + digits);
    const point = Number.parseInt(hex, 16);
    if (/^[\da-f]+$/i.test(hex) && hex.length === digits && point <= 0x10ffff) {
      return { value: String.fromCodePoint(point), length: 1 + digits };
    }
    return { value: `\\${kind}`, length: kind.length };
  }
  const simple = SIMPLE[kind];
  if (simple !== undefined) return { value: simple, length: 1 };
  return { value: kind === '\\' || kind === "'" || kind === '"' ? kind : `\\${kind}`, length: kind.length };
}
