import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lab, lastLine, temporaryFolder } from './lab.ts';

describe('the command line', () => {
  it('lists methods, worlds and formats', async () => {
    const ended = await lab('list', '--json');
    expect(ended.status).toBe(0);
    const { methods, worlds, formats } = lastLine(ended);
    expect(methods[0]).toMatchObject({ id: 'toolspace', arms: ['untrained', 'trained'] });
    expect(methods[0].presets).toContain('micro');
    expect(worlds).toContain('desk');
    expect(formats).toEqual(
      expect.arrayContaining([
        'tau-bench',
        'tau2-bench',
        'livemcpbench',
        'api-bank',
        'claude-code',
        'mcp-cassette',
      ]),
    );
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each([
    [['lst'], 'list'],
    [['run', 'toolspac'], 'toolspace'],
    [['run', 'toolspace', '--sed', '1'], '--seeds'],
    [['run', 'toolspace', '--set', 'stps=10'], 'steps'],
    [['run', 'toolspace', '--set', 'steps=-3'], 'from 10'],
    [['run', 'toolspace', '--set', '__proto__=1'], '__proto__'],
    [['run', 'toolspace', '--preset', 'mikro'], 'micro'],
    [['run', 'toolspace', '--arms', 'traind'], 'trained'],
    [['run', 'toolspace', '--seeds', '1,x'], 'seed'],
    [['run', 'toolspace', '--gpu', 'vulkan'], 'dawn'],
    [['run'], 'METHOD'],
    [['graph'], 'FILES'],
    [['graph', '/nowhere.json'], '/nowhere.json'],
    [['run', '--resume', '/nowhere'], '/nowhere'],
  ])('ends %j with status 2 and says the nearest right word', async (words, hint) => {
    const ended = await lab(...words);
    expect(ended.status).toBe(2);
    expect(ended.stderr).toContain(hint);
    expect(ended.stdout).toBe('');
  });

  it.each(['list', 'import', 'graph', 'run', 'link', 'bench'])('explains %s', async (command) => {
    const ended = await lab(command, '--help');
    expect(ended.status).toBe(0);
    expect(ended.stdout).toContain(`npm run lab -- ${command}`);
    expect(ended.stdout).toContain('--json');
  });

  it('makes a link that names only what differs', async () => {
    const ended = await lab('link', 'toolspace', '--seeds', '7', '--set', 'steps=300', '--json');
    expect(ended.status).toBe(0);
    const { url } = lastLine(ended);
    expect(url).toContain('toolspace');
    expect(url).toContain('300');
    expect(url).not.toContain('warmup');
  });
});

describe('import and graph', () => {
  const call = (id: number, tool: string, args: object, result: object) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: `c${id}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } },
      ],
    },
    { role: 'tool', tool_call_id: `c${id}`, name: tool, content: JSON.stringify(result) },
  ];

  it('reads what it can, rejects the rest with place and reason, and writes lossless JSONL that reads the same', async () => {
    const folder = temporaryFolder();
    const good = join(folder, 'good.json');
    const messages = [1, 2, 3].flatMap((n) => [
      {
        messages: [
          { role: 'user', content: 'go' },
          ...call(1, 'find_order', { name: `anna ${n}` }, { order: { id: `ord-77${n}1` } }),
          ...call(2, 'get_order', { order_id: `ord-77${n}1` }, { total: 12 }),
        ],
      },
    ]);
    writeFileSync(good, messages.map((m) => JSON.stringify(m)).join('\n'));
    writeFileSync(join(folder, 'cut.json'), '[{"messages": [{"role": "us');
    writeFileSync(join(folder, 'empty.json'), '');
    const out = join(folder, 'out.jsonl');
    const imported = await lab('import', folder, '--out', out, '--json');
    expect(imported.status).toBe(0);
    const { files, rejected } = lastLine(imported);
    expect(files).toEqual([expect.objectContaining({ path: good, trajectories: 3, calls: 6, errors: 0 })]);
    expect(rejected.map((one: { path: string }) => one.path).sort()).toEqual([
      join(folder, 'cut.json'),
      join(folder, 'empty.json'),
    ]);

    const mined = lastLine(await lab('graph', good, '--json'));
    expect(mined.sources).toEqual([
      expect.objectContaining({
        path: good,
        trajectories: 3,
        calls: 6,
        pairs: 3,
        edges: { data: 3, state: 0, retry: 0 },
      }),
    ]);
    expect(mined.edges.data).toBe(1);
    const again = lastLine(await lab('graph', out, '--json'));
    expect({ ...again, seconds: 0, sources: [] }).toEqual({ ...mined, seconds: 0, sources: [] });
  });

  it('fails where nothing could be read', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'noise.bin'), Buffer.from([0, 1, 2, 255, 254]));
    const ended = await lab('graph', join(folder, 'noise.bin'), '--json');
    expect(ended.status).toBe(1);
    expect(lastLine(ended).rejected).toHaveLength(1);
  });
});
