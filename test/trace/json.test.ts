import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../src/base/errors.ts';
import type { Json } from '../../src/base/json.ts';
import { MAX_DEPTH, parseJson, stringifyJson } from '../../src/trace/json.ts';
import { findJsonError } from '../../src/trace/jsonError.ts';

function errorOf(text: string): LabError {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof LabError) return error;
    throw error;
  }
  throw new Error('parsed');
}

describe('numbers keep their identity', () => {
  it('beyond 2^53 they become the string of their digits', () => {
    expect(parseJson('[9007199254740991,9007199254740993,-12345678901234567890]')).toEqual([
      9007199254740991,
      '9007199254740993',
      '-12345678901234567890',
    ]);
    expect(parseJson('12345678901234567890')).toBe('12345678901234567890');
    expect(parseJson('{"id":12345678901234567890.5,"x":1e400}')).toEqual({
      id: '12345678901234567890.5',
      x: '1e400',
    });
  });

  it('fractions and large measures stay numbers', () => {
    expect(parseJson('[0.1234567890123456789,1e21,1e-400,1.5e+300]')).toEqual([
      Number('0.1234567890123456789'),
      1e21,
      0,
      1.5e300,
    ]);
  });

  it('digits inside strings are left alone, whatever escapes stand around them', () => {
    const value = { 'a"1234567890123456789': 'x\\', b: '\\"12345678901234567890 e999', c: [1] };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });

  it('every whole number survives, exact', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })), fc.string(), (ids, text) => {
        const read = parseJson(`{"t":${JSON.stringify(text)},"ids":[${ids.join(' , ')}]}`);
        const exact = ids.map((id) => (Number.isSafeInteger(Number(id)) ? Number(id) : String(id)));
        expect(read).toEqual({ t: text, ids: exact });
      }),
    );
  });

  it('takes linear time over many large numbers', { timeout: 60_000 }, () => {
    const list = `[${new Array(200_000).fill('1234567890123456789').join(',')}]`;
    const began = performance.now();
    expect((parseJson(list) as Json[]).length).toBe(200_000);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

it('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat(4), (value, indent) => {
      const text = JSON.stringify(
        value,
        (_, one) => (typeof one === 'number' ? Math.fround(one % 1e9) : one),
        indent,
      );
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

it('stringifyJson and parseJson are inverse, for large numbers too', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(fc.double(), fc.maxSafeInteger(), fc.string())),
      (value) => {
        // NaN, infinities and −0 are no JSON.
        const json = JSON.parse(JSON.stringify(value)) as Json;
        expect(parseJson(stringifyJson(json))).toEqual(json);
      },
    ),
  );
  expect(parseJson(stringifyJson({ big: 2 ** 60 }))).toEqual({ big: 2 ** 60 });
});

it('a __proto__ key is a field and pollutes nothing', () => {
  const value = parseJson('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

describe('nesting', () => {
  it('of 100,000 levels is refused, not a stack overflow', () => {
    const levels = 100_000;
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const error = errorOf(`${open.repeat(levels)}1${close.repeat(levels)}`);
      expect(error.message).toBe(`nested deeper than ${MAX_DEPTH} levels`);
    }
    expect(errorOf('['.repeat(levels)).message).toContain('nested deeper');
  });

  it('up to the limit is read, and brackets inside strings do not count', () => {
    expect(parseJson(`${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}`)).toBeInstanceOf(Array);
    const text = '[{'.repeat(5000);
    expect(parseJson(JSON.stringify([text, `"${text}`]))).toEqual([text, `"${text}`]);
  });
});

describe('what is wrong, and where', () => {
  it.each([
    ['{"a": 1', 'a comma or }', 'the end of the text', 'column 8'],
    ['{"a": 1,\n  b: 2}', 'a key in double quotes', '“b”', 'line 2, column 3'],
    ['[1, 2,]', 'a value', '“]”', 'column 7'],
    ['{"a" 1}', 'a colon', '“1”', 'column 6'],
    ['[1] x', 'the end of the text', '“x”', 'column 5'],
    ['["ab', 'the closing quote of a string', 'the end of the text', 'column 5'],
    ['["a\\x"]', 'an escape sequence', '“\\”', 'column 4'],
    ['["a\tb"]', 'an escape in place of a control character', 'U+0009', 'column 4'],
    ["{'a': 1}", 'a key in double quotes or }', "“'”", 'column 2'],
    ['[01]', 'a value or ]', '“0”', 'column 2'],
    ['[NaN]', 'a value or ]', '“N”', 'column 2'],
    ['', 'a value', 'the end of the text', 'column 1'],
  ])('%j', (text, expected, found, where) => {
    const error = errorOf(text);
    expect(error.message).toBe(`not JSON: expected ${expected}, found ${found}`);
    expect(error.where).toBe(where);
  });

  it('a cut text is found wanting at its end, or at the token that was cut', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, at) => {
        const whole = JSON.stringify(value);
        const cut = whole.slice(0, at % whole.length);
        expect(() => JSON.parse(cut)).toThrow();
        const { offset } = findJsonError(cut);
        // The longest token that can be cut in two: -1.7976931348623157e+308.
        expect(offset).toBeGreaterThanOrEqual(cut.length - 25);
        expect(offset).toBeLessThanOrEqual(cut.length);
      }),
    );
  });
});
