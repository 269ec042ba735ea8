import { describe, expect, it } from 'vitest';
import type { Trajectory } from '../../src/trace/model.ts';
import { callsOf } from '../../src/trace/model.ts';
import type { Reading } from './files.ts';
import { dataFile, dataPaths, HAS_DATA, readAll } from './files.ts';

/**
 * The figures of ../shared/design/trace-formats.md (trajectories with calls, calls, adjacent pairs), and beside them what
 * the readers make of the calls: meta, by the simulated user, failed. Every figure of the table is matched: its counter
 * took every call, meta calls (think, route, ToolSearcher, …) and the user's calls included, so that pairs = calls −
 * trajectories with calls. The rows that are left out belong to formats without a reader.
 */
const EXPECTED = [
  // 89 meta = 63 think + 26 transfer_to_human_agents. 16 of the 128 runs make no call.
  { folder: 'tau-bench', with: 112, calls: 732, pairs: 620, meta: 89, user: 0, failed: 29, all: 128 },
  // 193 calls by telecom's user; 19 meta = transfer_to_human_agents; 11 flagged errors and 3 in the variant without a flag.
  { folder: 'tau2-bench', with: 93, calls: 992, pairs: 899, meta: 19, user: 193, failed: 14, all: 93 },
  // 193 meta = route; the other 358 are execute-tool, unwrapped.
  { folder: 'livemcpbench', with: 66, calls: 551, pairs: 485, meta: 193, user: 0, failed: 116, all: 66 },
  // 32 meta = ToolSearcher. 183 files: one is empty, two hold no call.
  { folder: 'api-bank', with: 180, calls: 351, pairs: 171, meta: 32, user: 0, failed: 0, all: 182 },
  // 12 of the 13 files make calls. The 12 calls that `progress` records repeat from a sub-agent's own file count once.
  { folder: 'claude-code', with: 12, calls: 414, pairs: 402, meta: 5, user: 0, failed: 20, all: 13 },
];

async function readFolder(folder: string): Promise<Reading> {
  const sum: Reading = { format: null, trajectories: [], rejections: [], progress: [] };
  for (const path of dataPaths(folder, /\.jsonl?$/)) {
    const reading = await readAll(dataFile(path));
    sum.format ??= reading.format;
    sum.trajectories.push(...reading.trajectories);
    sum.rejections.push(...reading.rejections);
  }
  return sum;
}

function countCalls(trajectories: readonly Trajectory[]) {
  const calling = trajectories.filter((one) => callsOf(one).length > 0);
  const calls = calling.flatMap(callsOf);
  return {
    with: calling.length,
    calls: calls.length,
    pairs: calls.length - calling.length,
    meta: calls.filter((call) => call.meta).length,
    user: calls.filter((call) => call.caller === 'user').length,
    failed: calls.filter((call) => call.error !== null).length,
    all: trajectories.length,
  };
}

describe.skipIf(!HAS_DATA)('the published traces', () => {
  for (const { folder, ...figures } of EXPECTED) {
    it(`${folder}: every trajectory, call and pair of the table`, async () => {
      const reading = await readFolder(folder);
      expect(reading.format).toBe(folder);
      expect(countCalls(reading.trajectories)).toEqual(figures);
      const ids = new Set(reading.trajectories.map((one) => `${one.file} ${one.id}`));
      expect(ids.size).toBe(reading.trajectories.length);
      for (const one of reading.trajectories) {
        const calls = callsOf(one);
        expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
      }
    });
  }

  it('misc-formats: the MCP cassette has one trajectory of four calls', async () => {
    // The table's row (6 trajectories, 32 calls) counts six formats; the cassette is the one with a reader.
    const { format, trajectories, rejections } = await readAll(
      dataFile('misc-formats/mcp-recorder_mock_session.json'),
    );
    expect(format).toBe('mcp-cassette');
    expect(rejections).toEqual([]);
    expect(countCalls(trajectories)).toMatchObject({ with: 1, calls: 4, pairs: 3, failed: 0 });
    const [trajectory] = trajectories;
    const calls = callsOf(trajectory as Trajectory);
    expect(calls.map((call) => call.tool)).toEqual(
      ['add', 'multiply', 'echo', 'get_weather'].map((tool) => `Test Calculator/${tool}`),
    );
    expect(calls[0]).toMatchObject({ args: { a: 2, b: 3 }, result: 5 });
    expect(calls[3]?.result).toMatchObject({ city: 'London', temp_c: 22 });
    expect(trajectory?.tools.find((tool) => tool.name === 'Test Calculator/add')?.outputSchema).toBeDefined();
  });

  it('reports what the sources get wrong, and nothing else', async () => {
    const rejections = (await Promise.all(EXPECTED.map((row) => readFolder(row.folder)))).flatMap(
      (reading) => reading.rejections,
    );
    expect(rejections).toEqual([
      {
        path: 'tau-bench/gpt-4o-airline.open.json',
        where: '[9].traj[24].tool_calls[0]',
        reason: 'the call id “call_VusDN6ekzbqpoU5uT6i3QRAH” is not unique; 43 of 732 calls given a suffix',
      },
      { path: 'livemcpbench/tools.min.json', where: '', reason: 'a catalogue of tools, not a trace' },
      {
        path: 'api-bank/lv1-lv2-samples/level-1-given-desc__SearchEngine-level-1-1.jsonl',
        where: 'byte 0',
        reason: 'an empty file; choose a file with traces',
      },
    ]);
  });

  it('livemcpbench: no wrapping is left, and errors behind isError: false are found', async () => {
    const { trajectories } = await readAll(dataFile(dataPaths('livemcpbench', /Qwen/)[0] as string));
    const calls = trajectories.flatMap(callsOf).filter((call) => !call.meta);
    expect(calls.every((call) => call.tool.includes('/') && !Object.hasOwn(call.args, 'server_name'))).toBe(
      true,
    );
    const texts = calls.map((call) => JSON.stringify(call.result) ?? '');
    expect(texts.filter((text) => text.includes('TextContent(') || text.startsWith('{"_meta"'))).toEqual([]);
    // The 24 results that say so with a field `error`.
    const soft = calls.filter((call) => call.error?.startsWith('No presentation is currently loaded'));
    expect(soft).toHaveLength(24);
    expect(calls.filter((call) => call.result === undefined)).toEqual([]);
  });

  it('tau2-bench: the user’s phone is a name space of its own', async () => {
    const { trajectories } = await readAll(dataFile('tau2-bench/gpt-4.1_telecom.open.json'));
    const calls = trajectories.flatMap(callsOf);
    for (const call of calls) expect(call.tool.startsWith('user/')).toBe(call.caller === 'user');
    const alone = await readAll(dataFile('tau2-bench/gpt-4.1_telecom_no-user.open.json'));
    const tools = new Set(alone.trajectories.flatMap(callsOf).map((call) => call.tool));
    expect(tools.has('check_status_bar')).toBe(true);
    expect(tools.has('user/check_status_bar')).toBe(false);
  });

  it('the other published formats are rejected as unknown, never guessed at', async () => {
    for (const folder of ['toolbench', 'codex-gemini-cli', 'otel-spans', 'langfuse', 'openhands']) {
      const { trajectories, rejections } = await readFolder(folder);
      expect(trajectories.flatMap(callsOf)).toEqual([]);
      expect(rejections.length).toBeGreaterThan(0);
    }
  });
});
