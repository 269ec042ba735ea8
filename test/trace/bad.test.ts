import { describe, expect, it } from 'vitest';
import { MAX_DOCUMENT, MAX_LINE } from '../../src/trace/bytes.ts';
import { callsOf } from '../../src/trace/model.ts';
import { readTraces } from '../../src/trace/read.ts';
import type { Reading } from './files.ts';
import { fileOf, readAll } from './files.ts';

const chat = (id: string, content: unknown, args: unknown = {}): object => ({
  messages: [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'get_x', arguments: JSON.stringify(args) } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ],
});
const line = (id: string): string => JSON.stringify(chat(id, '{"ok":true}'));
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function soleRejection(reading: Reading) {
  expect(reading.trajectories).toEqual([]);
  expect(reading.rejections).toHaveLength(1);
  return reading.rejections[0];
}

describe('a file that cannot be read is one rejection', () => {
  it.each([
    ['empty', '', 'byte 0', /^an empty file/],
    ['blank', ' \n\r\n ', 'byte 0', /^an empty file/],
    ['prose', 'Dear diary', 'byte 0', /^not JSON: expected \{ or \[/],
    ['HTML', '\n<!doctype html><script>alert(1)</script>', 'byte 1', /^not JSON/],
    [
      'truncated',
      '[{"traj": [{"role": "user",\n "cont',
      'line 2, column 7',
      /expected the closing quote of a string/,
    ],
    ['a list of nothing', '[]', '', /^an empty list/],
    ['an unknown shape', '{"colour":"red","__proto__":1}', '', /the shape of no known format.*colour/],
    ['a number', '42', '', /found|a number/],
    ['null', 'null', '', /null/],
  ])('%s', async (_name, text, where, reason) => {
    const rejection = soleRejection(await readAll(fileOf('a/b.json', text)));
    expect(rejection).toMatchObject({ path: 'a/b.json', where });
    expect(rejection?.reason).toMatch(reason);
  });

  it('binary data, archives and UTF-16 by their first bytes', async () => {
    const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13);
    expect(soleRejection(await readAll(fileOf('x.json', png)))).toMatchObject({
      where: 'byte 8',
      reason: expect.stringContaining('binary'),
    });
    const gzip = Uint8Array.of(0x1f, 0x8b, 8, 0);
    expect(soleRejection(await readAll(fileOf('x.json', gzip)))?.reason).toContain('gzip');
    const zip = Uint8Array.of(0x50, 0x4b, 3, 4);
    expect(soleRejection(await readAll(fileOf('x.eval', zip)))?.reason).toContain('zip');
    const utf16 = Uint8Array.of(0xff, 0xfe, 0x7b, 0, 0x7d, 0);
    expect(soleRejection(await readAll(fileOf('x.json', utf16)))?.reason).toContain('UTF-16');
  });

  it('invalid UTF-8 in a document, with the byte', async () => {
    const bytes = bytesOf('{"messages": "é?"}');
    bytes[16] = 0xff;
    expect(soleRejection(await readAll(fileOf('x.json', bytes)))).toMatchObject({
      where: 'byte 16',
      reason: expect.stringContaining('not UTF-8'),
    });
  });

  it('nesting of 100,000 levels', async () => {
    const deep = `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(soleRejection(await readAll(fileOf('x.json', deep)))?.reason).toContain('nested deeper');
    expect(soleRejection(await readAll(fileOf('x.jsonl', deep)))?.reason).toContain('nested deeper');
  });

  it('a stream that fails, without an exception', async () => {
    const file = fileOf('gone.json', '');
    file.stream = () =>
      new ReadableStream({
        pull() {
          throw new Error('the disk is gone');
        },
      });
    expect(soleRejection(await readAll(file))?.reason).toContain('the disk is gone');
  });

  it('a document over the limit, before a byte of it is kept', async () => {
    const file = { ...fileOf('x.json', '{"a": [\n1\n]}'), size: MAX_DOCUMENT + 1 };
    const rejection = soleRejection(await readAll(file));
    expect(rejection?.reason).toMatch(/a JSON document of 257 MB; documents up to 256 MB are read; split it/);
  });
});

describe('a single line of 50 MB', { timeout: 60_000 }, () => {
  const size = 50 * 1024 * 1024;

  it('that is no JSON is refused at its first byte', async () => {
    const chunk = new Uint8Array(64 * 1024).fill(120);
    let pulled = 0;
    const file = { ...fileOf('x.jsonl', ''), size };
    file.stream = () =>
      new ReadableStream({
        pull(controller) {
          pulled += chunk.length;
          controller.enqueue(chunk);
        },
      });
    expect(soleRejection(await readAll(file))?.where).toBe('byte 0');
    expect(pulled).toBeLessThan(1 << 20);
  });

  it('between good lines is skipped, and they are read', async () => {
    const long = new Uint8Array(size).fill(97);
    long[0] = 34;
    const bytes = new Uint8Array(
      [...bytesOf(`${line('a')}\n`)].length + size + 1 + bytesOf(line('b')).length,
    );
    const head = bytesOf(`${line('a')}\n`);
    bytes.set(head);
    bytes.set(long, head.length);
    bytes.set(bytesOf(`\n${line('b')}`), head.length + size);
    const began = performance.now();
    const reading = await readAll(fileOf('x.jsonl', bytes, 1 << 20));
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(reading.trajectories.flatMap(callsOf).map((call) => call.id)).toEqual(['a', 'b']);
    expect(reading.rejections).toEqual([
      {
        path: 'x.jsonl',
        where: 'line 2',
        reason: `a line of 50 MB; lines up to ${MAX_LINE >> 20} MB are read`,
      },
    ]);
  });

  it('that is a document is read as one', async () => {
    const text = JSON.stringify([chat('a', 'x'.repeat(size))]);
    const began = performance.now();
    const reading = await readAll(fileOf('x.json', text, 1 << 20));
    expect(reading.rejections).toEqual([]);
    expect(callsOf(reading.trajectories[0]!)[0]?.result).toHaveLength(size);
    expect(reading.progress.length).toBeGreaterThan(40);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe('a bad record in a good file costs that record', () => {
  it('broken, foreign, too deep and not UTF-8 lines', async () => {
    const bad = bytesOf(JSON.stringify(chat('c', 'é')));
    bad[bad.indexOf(0xc3)] = 0xff;
    const lines = [
      bytesOf(line('a')),
      bytesOf('{"messages": [}'),
      bytesOf('{"other": 1}'),
      bytesOf('['.repeat(5000)),
      bad,
      bytesOf(''),
      bytesOf(line('b')),
    ];
    const text = lines.flatMap((one) => [...one, 10]);
    const reading = await readAll(fileOf('x.jsonl', Uint8Array.from(text)));
    expect(reading.trajectories.flatMap(callsOf).map((call) => call.id)).toEqual(['a', 'b']);
    expect(reading.rejections.map((one) => one.where)).toEqual([
      'line 2, column 15',
      'line 3',
      'line 4, column 1001',
      expect.stringMatching(/^line 5, byte \d+$/),
    ]);
    const byte = Number(/\d+$/.exec(reading.rejections[3]?.where ?? '')?.[0]);
    expect(text[byte]).toBe(0xff);
  });

  it('a broken first line', async () => {
    for (const path of ['x.jsonl', 'x.txt']) {
      const reading = await readAll(fileOf(path, `{"messages": [\n${line('a')}\n${line('b')}\n`));
      expect(reading.format).toBe('openai-chat');
      expect(reading.trajectories).toHaveLength(2);
      expect(reading.rejections.map((one) => one.where)).toEqual(['line 1, column 15']);
    }
  });

  it('a message, a call and its arguments', async () => {
    const record = {
      messages: [
        7,
        { role: 'wizard', content: 'hm' },
        {
          role: 'assistant',
          tool_calls: [
            { id: 'a', function: { name: 'f', arguments: '{"x": ' } },
            { id: 'b', function: { name: 'f', arguments: '[1]' } },
            { id: 'c', function: { arguments: '{}' } },
            { id: 'd', function: { name: 'f', arguments: '' } },
          ],
        },
        ...['a', 'b', 'c', 'd'].map((id) => ({ role: 'tool', tool_call_id: id, content: id })),
      ],
    };
    const reading = await readAll(fileOf('x.json', JSON.stringify(record)));
    expect(reading.trajectories.flatMap(callsOf)).toMatchObject([{ id: 'd', args: {}, result: 'd' }]);
    expect(reading.rejections.map((one) => `${one.where}: ${one.reason}`)).toEqual([
      'messages[0]: expected a message with a role; 1 of 7 messages skipped',
      'messages[1]: a message with the unknown role “wizard”; 1 of 7 messages skipped',
      'messages[2].tool_calls[0]: the call of “f” cannot be read (not JSON: expected a value, found the end of the text); 1 of 4 calls skipped',
      'messages[2].tool_calls[1]: the call of “f” cannot be read (the arguments are a list, not an object); 1 of 4 calls skipped',
      'messages[2].tool_calls[2]: a call without the name of a tool; 1 of 4 calls skipped',
    ]);
  });

  it('results without a call are left out, repeated call ids are told apart', async () => {
    const call = (id: string) => ({
      role: 'assistant',
      tool_calls: [{ id, function: { name: 'f', arguments: '{}' } }],
    });
    const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
    const messages = [
      result('ghost', '0'),
      call('a'),
      result('a', '1'),
      result('a', 'again'),
      call('a'),
      call('a'),
      result('a', '2'),
      result('a', '3'),
      result('ghost 2', '0'),
    ];
    const reading = await readAll(fileOf('x.jsonl', `${JSON.stringify({ messages })}\n${line('z')}`));
    expect(callsOf(reading.trajectories[0]!).map(({ id, result: value }) => [id, value])).toEqual([
      ['a', 1],
      ['a#2', 2],
      ['a#3', 3],
    ]);
    expect(reading.rejections.map((one) => `${one.where}: ${one.reason}`)).toEqual([
      'line 1, messages[0]: a result for an unknown call id “ghost”; 2 of 7 results left out',
      'line 1, messages[3]: a second result for the call “a”; 1 of 7 results left out',
      'line 1, messages[4].tool_calls[0]: the call id “a” is not unique; 2 of 4 calls given a suffix',
    ]);
  });

  it('a flood of bad lines is counted, not told one by one', async () => {
    const reading = await readAll(
      fileOf('x.jsonl', `${`${line('a')}\n`.repeat(40)}${'{"b": 1}\n'.repeat(30)}${'oops\n'.repeat(5000)}`),
    );
    expect(reading.rejections).toHaveLength(101);
    expect(reading.rejections.at(-1)?.reason).toBe('4930 more rejections in this file');
  });
});

describe('content is data', () => {
  it('HTML, script, lone surrogates and prototypes come through as they are', async () => {
    const content = '<img src=x onerror=alert(1)><script>alert("hi")</script> \ud800 \u0000';
    const args = JSON.parse('{"__proto__":{"polluted":true},"id":12345678901234567,"s":"\\udfff"}') as object;
    const record = JSON.stringify(chat('a', content)).replace(
      '"{}"',
      JSON.stringify(JSON.stringify(args).replace('12345678901234568', '12345678901234567')),
    );
    const reading = await readAll(fileOf('x.json', record));
    const [call] = callsOf(reading.trajectories[0]!);
    expect(call?.result).toBe(content);
    expect(call?.args.id).toBe('12345678901234567');
    expect(call?.args.s).toBe('\udfff');
    expect(Object.getPrototypeOf(call?.args)).toBe(Object.prototype);
    expect(Object.hasOwn(call?.args ?? {}, '__proto__')).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('a byte order mark and CRLF belong to no record', async () => {
    const text = `\ufeff${line('a')}\r\n\r\n${line('b')}\r\n`;
    for (const path of ['x.jsonl', 'x.json']) {
      const reading = await readAll(fileOf(path, text, 7));
      expect(reading.rejections).toEqual([]);
      expect(reading.trajectories.flatMap(callsOf).map((call) => [call.id, call.place.line])).toEqual([
        ['a', 1],
        ['b', 3],
      ]);
    }
    const document = await readAll(fileOf('x.json', `\ufeff[\r\n${line('a')}\r\n]\r\n`));
    expect(document.rejections).toEqual([]);
    expect(document.trajectories).toHaveLength(1);
  });
});

it('gives way to timers while it reads, and stops when the reader leaves', async () => {
  const long = `${line('a')}\n`.repeat(40_000);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const reading = await readAll(fileOf('x.jsonl', long));
  clearInterval(timer);
  expect(reading.trajectories).toHaveLength(40_000);
  expect(reading.progress.at(-1)).toBe(long.length);
  expect(ticks).toBeGreaterThanOrEqual(reading.progress.length - 1);

  let cancelled = false;
  const file = fileOf('x.jsonl', '');
  file.stream = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(bytesOf(`${line('a')}\n`)),
      cancel() {
        cancelled = true;
      },
    });
  for await (const event of readTraces(file)) if (event.type === 'trajectory') break;
  expect(cancelled).toBe(true);
});
