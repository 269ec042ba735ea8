/** Why a text is not JSON: offset in code units, what JSON would have there, what stands there. */
export interface JsonError {
  offset: number;
  expected: string;
  found: string;
}

type State = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma' | 'end';

const EXPECTED: Record<Exclude<State, 'comma'>, string> = {
  value: 'a value',
  'value or ]': 'a value or ]',
  key: 'a key in double quotes',
  'key or }': 'a key in double quotes or }',
  colon: 'a colon',
  end: 'the end of the text',
};
const LITERAL = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const SPACE = /[ \t\n\r]*/y;

/**
 * The first place where a text leaves the JSON grammar (RFC 8259). Called once `JSON.parse` has refused it: engines
 * word and place the same error differently, this does not. Without recursion, so depth does not matter.
 */
export function findJsonError(text: string): JsonError {
  /** True for an object, false for an array. */
  const open: boolean[] = [];
  let state: State = 'value';
  let at = 0;
  const fail = (expected?: string): JsonError => ({
    offset: at,
    expected: expected ?? (state === 'comma' ? separator() : EXPECTED[state]),
    found: describeUnit(text, at),
  });
  const separator = (): string => (open[open.length - 1] ? 'a comma or }' : 'a comma or ]');
  const afterValue = (): State => (open.length > 0 ? 'comma' : 'end');
  for (;;) {
    at += matchAt(SPACE, text, at);
    const unit = text.charAt(at);
    if (unit === '') return fail();
    if (state === 'end') return fail();
    if (state === 'colon') {
      if (unit !== ':') return fail();
      state = 'value';
      at++;
    } else if (state === 'comma') {
      const inObject = open[open.length - 1];
      if (unit === ',') state = inObject ? 'key' : 'value';
      else if (unit === (inObject ? '}' : ']')) {
        open.pop();
        state = afterValue();
      } else return fail();
      at++;
    } else if ((state === 'key or }' && unit === '}') || (state === 'value or ]' && unit === ']')) {
      open.pop();
      state = afterValue();
      at++;
    } else if (unit === '"') {
      const string = scanString(text, at);
      at = string.at;
      if (!string.closed) return fail(string.expected);
      state = state.startsWith('key') ? 'colon' : afterValue();
    } else if (state.startsWith('key')) {
      return fail();
    } else if (unit === '{' || unit === '[') {
      open.push(unit === '{');
      state = unit === '{' ? 'key or }' : 'value or ]';
      at++;
    } else {
      const length = matchAt(LITERAL, text, at);
      if (length === 0) return fail();
      at += length;
      state = afterValue();
    }
  }
}

function scanString(text: string, open: number): { at: number; closed: boolean; expected: string } {
  let at = open + 1;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === 34) return { at: at + 1, closed: true, expected: '' };
    if (Number.isNaN(unit)) return { at, closed: false, expected: 'the closing quote of a string' };
    if (unit < 32) return { at, closed: false, expected: 'an escape in place of a control character' };
    const step = unit === 92 ? matchAt(ESCAPE, text, at) : 1;
    if (step === 0) return { at, closed: false, expected: 'an escape sequence' };
    at += step;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function describeUnit(text: string, at: number): string {
  const point = text.codePointAt(at);
  if (point === undefined) return 'the end of the text';
  if (point < 32 || (point >= 0xd800 && point < 0xe000)) return `U+${point.toString(16).padStart(4, '0')}`;
  return `“${String.fromCodePoint(point)}”`;
}
