import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines } from '../../src/trace/bytes.ts';
import { declareFrom, readToolCatalogue } from '../../src/trace/catalogue.ts';
import { softError } from '../../src/trace/failure.ts';
import type { Trajectory } from '../../src/trace/model.ts';
import { callsOf } from '../../src/trace/model.ts';
import { readPythonString } from '../../src/trace/python.ts';
import { formats } from '../../src/trace/read.ts';
import { readRecords } from '../../src/trace/source.ts';
import { dataFile, fileOf, HAS_DATA, readAll } from './files.ts';

async function recordsOf(text: string, path: string, chunk: number): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const step of readRecords(fileOf(path, text, chunk))) {
    if (step.type === 'entry')
      records.push([step.entry.place.line ?? step.entry.place.field, step.entry.value]);
    if (step.type === 'rejected') throw new Error(step.rejection.reason);
  }
  return records;
}

const json = fc
  .object({ values: [fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null)] })
  .map((value) => JSON.parse(JSON.stringify(value)) as object);

describe('records', () => {
  it('are the same however the bytes are cut, one a line or in a list', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(json, { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        async (values, chunk) => {
          const lines = values.map((value) => JSON.stringify(value)).join('\r\n');
          const numbered = values.map((value, i) => [i + 1, value]);
          expect(await recordsOf(lines, 'x.json', chunk)).toEqual(numbered);
          expect(await recordsOf(lines, 'x.jsonl', chunk)).toEqual(numbered);
          const indexed = values.map((value, i) => [`[${i}]`, value]);
          for (const indent of [0, 1]) {
            expect(await recordsOf(JSON.stringify(values, null, indent), 'x.json', chunk)).toEqual(indexed);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('pretty-printed JSON under a name for lines is still a document', async () => {
    expect(await recordsOf(JSON.stringify({ a: [1] }, null, 2), 'x.jsonl', 9)).toEqual([
      [undefined, { a: [1] }],
    ]);
  });

  it('lines know their bytes', async () => {
    const lines: [number, number, string][] = [];
    const stream = fileOf('x', '\ufeffab\r\n\nc').stream();
    for await (const line of splitLines(stream)) {
      lines.push([line.number, line.byte, new TextDecoder().decode(line.bytes ?? undefined)]);
    }
    expect(lines).toEqual([
      [1, 0, 'ab'],
      [2, 7, ''],
      [3, 8, 'c'],
    ]);
  });
});

it('formats are listed by unique ids, each with a title', () => {
  expect(formats.map((format) => format.id)).toEqual([
    'lab',
    'tau-bench',
    'tau2-bench',
    'livemcpbench',
    'api-bank',
    'claude-code',
    'mcp-cassette',
    'openai-chat',
  ]);
  expect(formats.every((format) => format.title !== '')).toBe(true);
});

describe('soft errors', () => {
  it.each<[unknown, string | null]>([
    ['Error: no', 'Error: no'],
    ['  KeyError: x', '  KeyError: x'],
    ['Traceback (most recent call last):\n x', 'Traceback (most recent call last):\n x'],
    ['# Search Failed\n\nwhy', '# Search Failed\n\nwhy'],
    ['Error handling in Rust is explicit', null],
    ['The last line says Error: no', null],
    ['Errors: 0', null],
    [{ error: 'locked' }, 'locked'],
    [{ error: { code: 7, message: 'locked' } }, 'locked'],
    [{ error: true, message: 'locked' }, 'locked'],
    [{ error: '' }, null],
    [{ error: false, value: 1 }, null],
    [{ success: false, message: 'full' }, 'full'],
    [{ status: 'error' }, '{"status":"error"}'],
    [{ id: 'job-7', status: 'failed' }, null],
    ['# Handling a 404 Error\n', null],
    [{ success: true, errors: [] }, null],
    [[{ error: 'inside a list' }], null],
    [null, null],
    [undefined, null],
  ])('%j', (result, error) => {
    expect(softError(result as never)).toBe(error);
  });
});

describe('Python string literals', () => {
  it.each<[string, string, boolean]>([
    [`'a\\'b"\\n\\x41\\u00e9\\U0001F600\\\\n' rest`, `a'b"\nA\u00e9\u{1F600}\\n`, true],
    [`"it's"`, "it's", true],
    [`'\\q'`, '\\q', true],
    [`'cut`, 'cut', false],
    [`'cut\\`, 'cut\\', false],
    [`'cut\\u00`, 'cut\\u00', false],
  ])('%s', (text, value, closed) => {
    expect(readPythonString(text, 0)).toMatchObject({ value, closed });
  });

  it('any text survives the repr of Python', () => {
    const repr = (text: string): string =>
      `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'").replace(/\n/g, '\\n').replace(/\r/g, '\\r')}'`;
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const literal = repr(text);
        expect(readPythonString(`=${literal}, x`, 1)).toEqual({
          value: text,
          end: literal.length + 1,
          closed: true,
        });
      }),
    );
  });
});

describe('tool catalogues', () => {
  it('an MCP list, and records that are none', async () => {
    const list = {
      tools: [
        { name: 'f', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
        { nameless: 1 },
      ],
    };
    const { tools, rejected } = await readToolCatalogue(fileOf('x.json', JSON.stringify([list, { no: 1 }])));
    expect(tools).toEqual([{ name: 'f', description: '', inputSchema: { type: 'object' }, effect: 'read' }]);
    expect(rejected).toMatchObject([{ path: 'x.json', where: '[1]' }]);
    expect((await readToolCatalogue(fileOf('x.json', '{'))).rejected).toHaveLength(1);
  });

  it.skipIf(!HAS_DATA)('LiveMCPBench: 527 tools of 70 servers, 44 of them annotated', async () => {
    const { tools, rejected } = await readToolCatalogue(dataFile('livemcpbench/tools.min.json'));
    expect(rejected).toEqual([]);
    expect(tools).toHaveLength(527);
    expect(new Set(tools.map((tool) => tool.name.split('/')[0])).size).toBe(70);
    expect(tools.filter((tool) => tool.effect !== undefined).length).toBe(44);

    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const { trajectories } = await readAll(
      dataFile('livemcpbench/claude-sonnet-4-20250514_Qwen3-Embedding-0.6B.open.json'),
    );
    const declared = trajectories.map((one) => declareFrom(one, byName));
    for (const one of declared) {
      const called = new Set(callsOf(one).map((call) => call.tool));
      expect(one.tools.every((tool) => called.has(tool.name))).toBe(true);
    }
    const again = declareFrom(declared[0] as Trajectory, byName);
    expect(again).toBe(declared[0]);
    const share = trajectories.flatMap(callsOf).filter((call) => !call.meta);
    expect(share.filter((call) => byName.has(call.tool)).length / share.length).toBeGreaterThan(0.9);
  });
});
