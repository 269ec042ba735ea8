import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/base/json.ts';
import { writeTrajectory } from '../../src/trace/formats/lab.ts';
import type { Call, Message, Place, ToolSpec, Trajectory } from '../../src/trace/model.ts';
import { dataFile, fileOf, HAS_DATA, readAll } from './files.ts';

/** Any UTF-16 string, lone surrogates included. */
const text = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});
/** JSON has no −0 in JavaScript: JSON.stringify writes 0. */
const json = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'binary' })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'a b'));
const number = fc
  .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(2 ** 60))
  .map((n) => n + 0);
const object: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(key, fc.oneof(json, text, number)))
  .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries))) as JsonObject);

const place: fc.Arbitrary<Place> = fc.record(
  { file: text, line: fc.nat(), field: text },
  { requiredKeys: ['file'], noNullPrototype: true },
);
const message: fc.Arbitrary<Message> = fc.record(
  {
    kind: fc.constant('message' as const),
    role: fc.constantFrom('system' as const, 'user' as const, 'agent' as const),
    text,
  },
  { noNullPrototype: true },
);
const call: fc.Arbitrary<Call> = fc.record(
  {
    kind: fc.constant('call' as const),
    id: text,
    tool: text,
    args: object,
    result: fc.option(json, { nil: undefined }),
    error: fc.option(text),
    caller: fc.constantFrom('agent' as const, 'user' as const),
    meta: fc.boolean(),
    place,
  },
  { noNullPrototype: true },
);
const tool: fc.Arbitrary<ToolSpec> = fc.record(
  {
    name: text,
    description: text,
    inputSchema: object,
    outputSchema: object,
    effect: fc.constantFrom('read' as const, 'write' as const, 'irreversible' as const),
  },
  { requiredKeys: ['name', 'description', 'inputSchema'], noNullPrototype: true },
);
const trajectory: fc.Arbitrary<Trajectory> = fc.record(
  {
    id: text,
    source: text,
    rank: fc.constantFrom('server' as const, 'workspace' as const, 'synthetic' as const),
    file: text,
    turns: fc.array(fc.oneof(message, call), { maxLength: 6 }),
    tools: fc.array(tool, { maxLength: 2 }),
    reward: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0)),
  },
  { noNullPrototype: true },
);

it('what is written is read back, equal in every field', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(trajectory, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 99 }),
      async (all, chunk) => {
        const lines = all.map(writeTrajectory);
        expect(lines.every((line) => !line.includes('\n'))).toBe(true);
        const reading = await readAll(fileOf('x.jsonl', lines.join('\n'), chunk * 17));
        expect(reading.rejections).toEqual([]);
        expect(reading.format).toBe('lab');
        // Not vitest's equality, which asks an object's own field `constructor` for its type.
        expect(isDeepStrictEqual(reading.trajectories, all)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});

it.skipIf(!HAS_DATA)('real traces survive it', async () => {
  const { trajectories } = await readAll(dataFile('tau2-bench/gpt-4.1_telecom.open.json'));
  const again = await readAll(fileOf('x.jsonl', trajectories.map(writeTrajectory).join('\n')));
  expect(again.trajectories).toStrictEqual(trajectories);
});

it('another version, a missing field and a wrong one are rejected by name; the rest is read', async () => {
  const good: Trajectory = {
    id: 'a',
    source: 's',
    rank: 'server',
    file: 'f',
    turns: [],
    tools: [],
    reward: 1,
  };
  const record = JSON.parse(writeTrajectory(good)) as JsonObject;
  const { reward: _, ...without } = record;
  const lines = [
    record,
    { ...record, version: 2 },
    without,
    { ...record, turns: [{ kind: 'message', role: 'robot', text: '' }] },
    { ...record, rank: 'best' },
    { hello: 1 },
  ];
  const reading = await readAll(fileOf('x.jsonl', lines.map((one) => JSON.stringify(one)).join('\n')));
  expect(reading.trajectories).toEqual([good]);
  expect(reading.rejections.map((one) => one.where)).toEqual([
    'line 2, version',
    'line 3, reward',
    'line 4, turns.0.role',
    'line 5, rank',
    'line 6, format',
  ]);
  expect(reading.rejections[0]?.reason).toBe('version 2; this lab reads version 1');
  expect(reading.rejections[4]?.reason).toBe('expected format “rollout-lab/trajectory”');
});
