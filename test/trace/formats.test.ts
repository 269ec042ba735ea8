import { describe, expect, it } from 'vitest';
import type { Call } from '../../src/trace/model.ts';
import { callsOf } from '../../src/trace/model.ts';
import type { Reading } from './files.ts';
import { fileOf, readAll } from './files.ts';

const read = (records: unknown[] | object, path = 'dir/x.json'): Promise<Reading> =>
  readAll(
    fileOf(
      path,
      path.endsWith('l')
        ? (records as unknown[]).map((one) => JSON.stringify(one)).join('\n')
        : JSON.stringify(records),
    ),
  );
const callsIn = (reading: Reading): Call[] => reading.trajectories.flatMap(callsOf);

describe('openai-chat', () => {
  it('a conversation with tools, parallel calls answered out of order, parts and the older function_call', async () => {
    const reading = await read({
      id: 'run-1',
      reward: true,
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'does f', parameters: { type: 'object', properties: {} } },
        },
        { type: 'function', function: {} },
      ],
      messages: [
        { role: 'developer', content: 'be good' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: {} },
            { type: 'text', text: 'b' },
          ],
        },
        {
          role: 'assistant',
          content: 'on it',
          tool_calls: [
            { id: '1', function: { name: 'f', arguments: '{"x":1}' } },
            { id: '2', function: { name: 'think', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: '2', content: '' },
        { role: 'tool', tool_call_id: '1', content: [{ type: 'text', text: '{"y": 2}' }] },
        { role: 'assistant', content: null, function_call: { name: 'g', arguments: '' } },
        { role: 'function', name: 'g', content: 'ValueError: no' },
      ],
    });
    expect(reading.format).toBe('openai-chat');
    expect(reading.rejections).toEqual([]);
    const [trajectory] = reading.trajectories;
    expect(trajectory).toMatchObject({ id: 'x#run-1', reward: 1, rank: 'synthetic', file: 'dir/x.json' });
    expect(trajectory?.tools).toEqual([
      { name: 'f', description: 'does f', inputSchema: { type: 'object', properties: {} } },
    ]);
    expect(trajectory?.turns.filter((turn) => turn.kind === 'message')).toEqual([
      { kind: 'message', role: 'system', text: 'be good' },
      { kind: 'message', role: 'user', text: 'a' },
      { kind: 'message', role: 'user', text: 'b' },
      { kind: 'message', role: 'agent', text: 'on it' },
    ]);
    expect(callsIn(reading)).toMatchObject([
      { id: '1', tool: 'f', args: { x: 1 }, result: { y: 2 }, error: null, meta: false, caller: 'agent' },
      { id: '2', tool: 'think', meta: true },
      { id: 'call-3', tool: 'g', args: {}, result: 'ValueError: no', error: 'ValueError: no' },
    ]);
    expect(callsIn(reading)[0]?.place).toEqual({ file: 'dir/x.json', field: 'messages[2].tool_calls[0]' });
  });

  it('bare lists of messages, one message a line, and Anthropic’s blocks', async () => {
    const messages = [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: 'broken', is_error: true }],
      },
    ];
    for (const reading of [
      await read(messages),
      await read(messages, 'x.jsonl'),
      await read([messages], 'x.jsonl'),
    ]) {
      expect(reading.rejections).toEqual([]);
      expect(reading.trajectories).toHaveLength(1);
      expect(callsIn(reading)).toMatchObject([
        { id: 't', tool: 'f', args: { a: 1 }, result: 'broken', error: 'broken' },
      ]);
    }
  });

  it('a call whose result was not recorded has none', async () => {
    const reading = await read({
      messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] }],
    });
    expect(callsIn(reading)[0]).toMatchObject({ id: 'a', result: undefined, error: null });
  });
});

describe('tau-bench', () => {
  it('errors without a flag, bare texts, repeated trials', async () => {
    const run = (content: string) => ({
      task_id: 3,
      trial: 1,
      reward: 0.0,
      info: {},
      traj: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', function: { name: 'get_user', arguments: '{"id":"u"}' } }],
        },
        { role: 'tool', tool_call_id: 'a', name: 'get_user', content },
      ],
    });
    const reading = await read([
      run('Error: user not found'),
      run('sara_doe_496'),
      run('77e2'),
      run('299.0'),
      run('[1'),
      {},
    ]);
    expect(reading.format).toBe('tau-bench');
    expect(reading.trajectories.map((one) => one.id)).toEqual([
      'x#3.1',
      'x#3.1.2',
      'x#3.1.3',
      'x#3.1.4',
      'x#3.1.5',
    ]);
    expect(callsIn(reading).map((call) => [call.result, call.error])).toEqual([
      ['Error: user not found', 'Error: user not found'],
      ['sara_doe_496', null],
      ['77e2', null],
      [299, null],
      ['[1', null],
    ]);
    expect(reading.rejections).toEqual([
      { path: 'dir/x.json', where: '[5]', reason: 'expected a run with a list `traj`' },
    ]);
  });
});

describe('tau2-bench', () => {
  it('object arguments, the error flag, the user’s tools, a bad simulation', async () => {
    const call = (id: string, requestor: string) => ({
      role: requestor,
      content: null,
      tool_calls: [{ id, name: 'toggle_data', arguments: { on: true }, requestor }],
    });
    const reading = await read({
      info: {
        environment_info: { domain_name: 'telecom', tool_defs: [{ name: 'toggle_data', inputSchema: {} }] },
      },
      simulations: [
        {
          task_id: 't',
          trial: 0,
          reward_info: { reward: 0.5 },
          messages: [
            call('a', 'user'),
            {
              role: 'tool',
              id: 'a',
              content: 'Error: said, but not flagged',
              error: false,
              requestor: 'user',
            },
            call('b', 'assistant'),
            call('c', 'assistant'),
            {
              role: 'tool',
              tool_messages: [
                { role: 'tool', id: 'b', content: 'no signal', error: true },
                { role: 'tool', id: 'c', content: 'Error: no flag at all' },
              ],
            },
          ],
        },
        { task_id: 'u' },
      ],
    });
    expect(reading.format).toBe('tau2-bench');
    expect(reading.trajectories).toMatchObject([
      { id: 'x#t.0', reward: 0.5, tools: [{ name: 'toggle_data' }] },
    ]);
    expect(callsIn(reading)).toMatchObject([
      { tool: 'user/toggle_data', caller: 'user', args: { on: true }, error: null },
      { tool: 'toggle_data', caller: 'agent', error: 'no signal' },
      { tool: 'toggle_data', caller: 'agent', error: 'Error: no flag at all' },
    ]);
    expect(reading.rejections.map((one) => one.where)).toEqual(['simulations[1]']);
  });
});

describe('livemcpbench', () => {
  const inner = (text: string, isError = false): string =>
    JSON.stringify({ _meta: null, content: [{ type: 'text', text, annotations: null }], isError });
  /** As Python's repr writes a string without a single quote in it. */
  const outer = (text: string, isError = 'False'): string =>
    `meta=None content=[TextContent(type='text', text='${text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}', annotations=None)] isError=${isError}`;

  async function outcomes(contents: string[]): Promise<[unknown, string | null][]> {
    const reading = await read([
      {
        task_id: 'q',
        Question: '?',
        task_success: 'success',
        messages: contents.flatMap((content, i) => [
          {
            role: 'assistant',
            content: '',
            tool_calls: [
              {
                id: `${i}`,
                function: {
                  name: 'execute-tool',
                  arguments: JSON.stringify({ server_name: 's', tool_name: 't', params: { i } }),
                },
              },
            ],
          },
          { role: 'tool', tool_call_id: `${i}`, content },
        ]),
      },
    ]);
    expect(reading.format).toBe('livemcpbench');
    expect(reading.trajectories[0]).toMatchObject({ id: 'x#q', rank: 'server', reward: 1 });
    expect(callsIn(reading).map((call) => [call.tool, call.args])).toEqual(
      contents.map((_, i) => ['s/t', { i }]),
    );
    return callsIn(reading).map((call) => [call.result, call.error]);
  }

  it('both wrappings come off; errors are found at every level', async () => {
    const whole = outer(inner('{"path": "C:\\\\x", "lines": ["a\\nb"]}'));
    expect(
      await outcomes([
        whole,
        outer(inner('{"error": "nothing is loaded"}')),
        outer(inner('{"error": null, "n": 1}')),
        outer(inner('no such file', true)),
        outer('Error executing tool execute-tool: gone', 'True'),
        'Tool call timed out.',
        outer('plain \\x words'),
        whole.slice(0, whole.indexOf('lines')),
        `meta=None content=[TextContent(type='text', text="it's", annotations=None), TextContent(type='text', text='\\u00e9\\'\\x41', annotations=None)] isError=False`,
      ]),
    ).toEqual([
      [{ path: 'C:\\x', lines: ['a\nb'] }, null],
      [{ error: 'nothing is loaded' }, 'nothing is loaded'],
      [{ error: null, n: 1 }, null],
      ['no such file', 'no such file'],
      ['Error executing tool execute-tool: gone', 'Error executing tool execute-tool: gone'],
      ['Tool call timed out.', 'Tool call timed out.'],
      ['plain \\x words', null],
      ['{"path": "C:\\\\x", "', null],
      ["it's\né'A", null],
    ]);
  });

  it('route is discovery; an execute-tool without its tool is skipped with its result', async () => {
    const reading = await read([
      {
        Question: '?',
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', function: { name: 'route', arguments: '{"query":"x"}' } }],
          },
          {
            role: 'assistant',
            tool_calls: [{ id: 'b', function: { name: 'execute-tool', arguments: '{"params":{}}' } }],
          },
          { role: 'tool', tool_call_id: 'b', content: 'x' },
        ],
      },
    ]);
    expect(callsIn(reading)).toMatchObject([{ tool: 'route', meta: true }]);
    expect(reading.rejections.map((one) => one.reason)).toEqual([
      'the call of “execute-tool” cannot be read (expected server_name and tool_name); 1 of 2 calls skipped',
    ]);
  });
});

describe('api-bank', () => {
  it('one dialogue a file; results stand with their calls', async () => {
    const reading = await read(
      [
        { role: 'User', text: 'hi' },
        {
          role: 'API',
          api_name: 'ToolSearcher',
          param_dict: { keywords: 'x' },
          result: { output: { name: 'F' }, exception: null },
        },
        { role: 'API', api_name: 'F', param_dict: { a: '1' }, result: { output: null, exception: 'wrong' } },
        { role: 'API', param_dict: {} },
        { role: 'AI', text: 'done' },
      ],
      'x.jsonl',
    );
    expect(reading.format).toBe('api-bank');
    expect(callsIn(reading)).toMatchObject([
      { tool: 'ToolSearcher', meta: true, result: { name: 'F' }, error: null },
      { tool: 'F', meta: false, args: { a: '1' }, error: 'wrong', place: { line: 3 } },
    ]);
    expect(reading.rejections).toEqual([
      { path: 'x.jsonl', where: 'line 4', reason: 'expected an api_name' },
    ]);
  });
});

describe('claude-code', () => {
  let count = 0;
  const record = (type: string, content: unknown, more: object = {}): object => ({
    type,
    uuid: `u${count++}`,
    parentUuid: null,
    sessionId: 's',
    message: { role: type, content },
    ...more,
  });
  const use = (id: string, name: string, more?: object) =>
    record('assistant', [{ type: 'tool_use', id, name, input: { q: id } }], more);
  const result = (id: string, content: unknown, more?: object, failed?: boolean) =>
    record(
      'user',
      [
        {
          type: 'tool_result',
          tool_use_id: id,
          content,
          ...(failed === undefined ? {} : { is_error: failed }),
        },
      ],
      more,
    );

  it('parallel calls, MCP names, errors by their flag, planning as meta, unknown results', async () => {
    const repeated = use('d', 'Read');
    const reading = await read(
      [
        { type: 'file-history-snapshot', messageId: 'm', snapshot: {} },
        record('user', 'please', {}),
        record('user', 'caveat', { isMeta: true }),
        use('a', 'Bash'),
        use('b', 'mcp__my_server__do__it'),
        result('b', [{ type: 'text', text: '{"n":1}' }]),
        result('a', 'Error: printed by a program that succeeded', {}, false),
        use('c', 'TodoWrite'),
        repeated,
        repeated,
        result('d', 'no such file', {}, true),
        result('ghost', 'boo'),
        { type: 'assistant', sessionId: 's', uuid: 'x' },
      ],
      'abc.jsonl',
    );
    expect(reading.format).toBe('claude-code');
    expect(reading.trajectories).toMatchObject([{ id: 'abc#main', rank: 'workspace' }]);
    expect(callsIn(reading)).toMatchObject([
      {
        id: 'a',
        tool: 'Bash',
        args: { q: 'a' },
        error: null,
        result: 'Error: printed by a program that succeeded',
      },
      { id: 'b', tool: 'my_server/do__it', result: { n: 1 } },
      { id: 'c', meta: true, result: undefined },
      { id: 'd', error: 'no such file', place: { line: 9, field: 'message.content[0]' } },
    ]);
    expect(
      reading.trajectories[0]?.turns.filter((turn) => turn.kind === 'message').map((turn) => turn.role),
    ).toEqual(['user', 'system']);
    expect(reading.rejections.map((one) => `${one.where}: ${one.reason}`)).toEqual([
      'line 13, message: expected a message with a role in this assistant record',
      'line 10: a record with the uuid of an earlier one; 1 of 13 records skipped',
      'line 12, message.content[0]: a result for an unknown call id “ghost”; 1 of 4 results left out',
    ]);
  });

  it('side chains and sessions in one file are trajectories of their own', async () => {
    const side = { isSidechain: true };
    const start = record('user', 'look', side) as { uuid: string };
    const step = use('y', 'Read', { ...side, parentUuid: start.uuid }) as { uuid: string };
    const reading = await read(
      [
        use('x', 'Task'),
        start,
        step,
        use('z', 'Grep', { ...side, agentId: 'bee' }),
        result('y', 'seen', { ...side, parentUuid: step.uuid }),
        result('z', 'none', { sessionId: 'resumed' }),
        result('x', 'done'),
        use('w', 'Bash', { sessionId: 'other' }),
      ],
      's.jsonl',
    );
    expect(reading.rejections).toEqual([]);
    expect(
      reading.trajectories.map((one) => [one.id, callsOf(one).map((call) => [call.id, call.result])]),
    ).toEqual([
      ['s#main', [['x', 'done']]],
      ['s#side', [['y', 'seen']]],
      ['s#bee', [['z', 'none']]],
      ['s#main.2', [['w', undefined]]],
    ]);
  });
});

describe('mcp-cassette', () => {
  it('tools with their effects, results, soft and protocol errors', async () => {
    const call = (name: string | null, response: unknown) => ({
      type: 'jsonrpc_request',
      request: {
        method: 'tools/call',
        params: { ...(name === null ? {} : { name }), arguments: { a: 1 } },
        id: 1,
      },
      response,
    });
    const text = (value: string) => [{ type: 'text', text: value }];
    const reading = await read({
      interactions: [
        { request: { method: 'initialize' }, response: { result: { serverInfo: { name: 'notes' } } } },
        {
          request: { method: 'tools/list' },
          response: {
            result: { tools: [{ name: 'del', inputSchema: {}, annotations: { destructiveHint: true } }] },
          },
        },
        call('del', { result: { content: text('ok'), isError: false } }),
        call('del', { result: { content: text('gone'), isError: true } }),
        call('list', {
          result: { content: [...text('1'), ...text('2')], structuredContent: { result: [1, 2] } },
        }),
        call('list', { result: { content: text('{"error":"locked"}'), isError: false } }),
        call('list', { error: { code: -32602, message: 'Unknown tool' } }),
        call('list', null),
        call(null, {}),
        { type: 'lifecycle', request: null, response: null },
      ],
    });
    expect(reading.format).toBe('mcp-cassette');
    expect(reading.trajectories[0]).toMatchObject({
      id: 'x#notes',
      rank: 'server',
      tools: [{ name: 'notes/del', effect: 'irreversible' }],
    });
    expect(callsIn(reading).map((one) => [one.tool, one.result, one.error])).toEqual([
      ['notes/del', 'ok', null],
      ['notes/del', 'gone', 'gone'],
      ['notes/list', { result: [1, 2] }, null],
      ['notes/list', { error: 'locked' }, 'locked'],
      ['notes/list', undefined, 'Unknown tool'],
      ['notes/list', undefined, null],
    ]);
    expect(reading.rejections.map((one) => one.where)).toEqual(['interactions[8]']);
  });
});
