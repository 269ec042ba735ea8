import { IDBObjectStore } from 'fake-indexeddb';
import fc from 'fast-check';
import { openDB } from 'idb';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fromBase64, fromBase64Url, toBase64, toBase64Url } from '../../src/store/base64.ts';
import type { LabStore } from '../../src/store/model.ts';
import { openStore } from '../../src/store/open.ts';
import { refusal } from '../lab/sample-method.ts';
import { checkpoint, clock, freshIndexedDb, RUN, rows, TRAJECTORY } from './samples.ts';

const open = () => openStore({ now: clock(), storage: undefined });

/** Everything in a store, to be compared. */
async function contents(store: LabStore): Promise<unknown> {
  const runs = (await store.runs()).records;
  const datasets = (await store.datasets()).records;
  const traces = (await store.traces()).records;
  return {
    runs,
    datasets,
    traces,
    tasks: await Promise.all(datasets.map(({ id }) => store.tasks(id))),
    trajectories: await Promise.all(traces.map(({ id }) => store.trajectories(id))),
    metrics: await Promise.all(runs.map(({ id }) => store.metrics(id))),
    evaluations: await Promise.all(runs.map(({ id }) => store.evaluations(id))),
    checkpoints: await Promise.all(runs.map(({ id }) => store.checkpoint(id, 'graph'))),
  };
}

async function filled(): Promise<LabStore> {
  const store = await open();
  const set = await store.saveDataset({ method: 'toolspace', hash: 'abc', counts: { train: 2 } }, [
    { id: 'a', text: 'ß — "x"\n' },
    null,
  ]);
  await store.saveTrace({ path: 'a.jsonl', format: 'claude', counts: { calls: 1 } }, [TRAJECTORY]);
  const run = await store.createRun({ ...RUN, datasetId: set.id });
  await store.appendMetrics(run.id, [
    ...rows('graph', 1, 300),
    { arm: 'graph', step: 301, loss: Number.NaN, norm: Number.POSITIVE_INFINITY },
  ]);
  await store.appendEvaluations(run.id, rows('graph', 100, 101));
  const odd = {
    ...checkpoint(7),
    parameters: Float32Array.from(
      { length: 64 },
      (_, i) => [Number.NaN, -0, 1e-40, Number.POSITIVE_INFINITY][i % 4]!,
    ),
  };
  await store.saveCheckpoint(run.id, 'graph', odd);
  await store.createRun(RUN);
  return store;
}

const linesOf = async (blob: Blob) => (await blob.text()).trimEnd().split('\n');
const fileOf = (lines: string[]) => new Blob([`${lines.join('\n')}\n`]);

beforeEach(freshIndexedDb);

describe('an export', () => {
  it('is brought back whole into an empty store, in the browser and in memory', async () => {
    const store = await filled();
    const before = await contents(store);
    const { blob, records, leftOut } = await store.exportAll();
    expect(leftOut).toEqual([]);
    expect((await linesOf(blob)).length).toBe(records + 2);
    freshIndexedDb();
    const empty = await open();
    expect(await empty.importAll(blob)).toEqual({ datasets: 1, traces: 1, runs: 2, kept: 0 });
    expect(await contents(empty)).toEqual(before);
    Reflect.set(globalThis, 'indexedDB', undefined);
    const memory = await open();
    await memory.importAll(blob);
    expect(await contents(memory)).toEqual(before);
    expect(await (await memory.exportAll()).blob.text()).toContain('"$number":"NaN"');
  });

  it('imported where it came from changes nothing', async () => {
    const store = await filled();
    const { blob } = await store.exportAll();
    const run = (await store.runs()).records[0]!;
    await store.updateRun(run.id, { status: 'done' });
    const before = await contents(store);
    expect(await store.importAll(blob)).toEqual({ datasets: 0, traces: 0, runs: 0, kept: 4 });
    expect(await contents(store)).toEqual(before);
  });

  it('leaves out what cannot be read, says so, and can be imported still', async () => {
    const store = await filled();
    const db = await openDB('rollout-lab');
    await db.put('runs', { id: 'newer', version: 2 });
    const [latest, first] = (await store.runs()).records;
    await store.appendMetrics(latest!.id, rows('graph', 1, 300));
    await db.delete('rows', [latest!.id, 'metrics', 0]);
    const { blob, leftOut } = await store.exportAll();
    expect(leftOut.map(({ key }) => key).sort()).toEqual([latest!.id, 'newer'].sort());
    freshIndexedDb();
    const empty = await open();
    await empty.importAll(blob);
    expect((await empty.runs()).records).toEqual([first]);
  });
});

describe('an import', () => {
  it('refuses a file that was changed anywhere, and changes nothing', async () => {
    const source = await filled();
    const lines = await linesOf((await source.exportAll()).blob);
    const at = (needle: string) => lines.findIndex((line) => line.includes(needle));
    const edit = (line: number, change: (text: string) => string) =>
      lines.map((text, i) => (i === line ? change(text) : text));
    const without = (line: number) => lines.filter((_, i) => i !== line);
    const checkpointLine = at('"store":"checkpoints"');
    const cases: [string[], RegExp][] = [
      [[], /line 1: .*empty/],
      [['hello'], /line 1: .*not JSON/],
      [['[]'], /line 1: .*no JSON object/],
      [['{}'], /no export of Rollout Lab/],
      [
        edit(0, (text) => text.replace('"version":1', '"version":2')),
        /newer lab \(version 2; this one reads 1\)/,
      ],
      [edit(0, (text) => text.replace('"version":1', '"version":"1"')), /missing or unknown/],
      [lines.slice(0, -1), /cut off/],
      [lines.slice(0, -2), /cut off/],
      [[...lines, lines[1]!], /something follows the last line/],
      [edit(lines.length - 1, (text) => text.replace(/\d+/, '99')), /should hold 99 records/],
      [edit(3, (text) => text.slice(0, -5)), /line 4: .*not JSON/],
      [edit(1, (text) => text.replace('"datasets"', '"__proto__"')), /line 2: .*no store "__proto__"/],
      [edit(at('"seed":3'), (text) => text.replace('"seed":3', '"seed":-3')), /seed/],
      [
        edit(at('"seed":3'), (text) => text.replace('"version":1', '"version":7')),
        /newer lab \(record version 7\)/,
      ],
      [edit(checkpointLine, (text) => text.replace('"moment1":"', '"moment1":"*')), /not base64/],
      [
        edit(checkpointLine, (text) => text.replace('"moment1":"', '"moment1":"AAAA')),
        /no 32-bit floats|differ in length/,
      ],
      [edit(checkpointLine, (text) => text.replace(/"moment1":"[^"]*"/, '"moment1":7')), /no 32-bit floats/],
      [
        edit(lines.length - 1, (text) => text.replace(/\d+/, String(lines.length - 3))).filter(
          (_, i) => i !== at('"kind":"metrics"'),
        ),
        /missing/,
      ],
    ];
    const target = await openStore({ name: 'target', now: clock(), storage: undefined });
    await target.createRun(RUN);
    const before = await contents(target);
    for (const [file, message] of cases) {
      expect(await refusal(() => target.importAll(fileOf(file)))).toMatch(message);
      expect(await contents(target)).toEqual(before);
    }
    for (let line = 1; line < lines.length - 1; line++) {
      const twice = [
        ...lines.slice(0, -1),
        lines[line]!,
        JSON.stringify({ end: true, records: lines.length - 1 }),
      ];
      expect(await refusal(() => target.importAll(fileOf(twice)))).toMatch(/twice/);
      await refusal(() => target.importAll(fileOf(without(line))));
    }
    expect(await contents(target)).toEqual(before);
    expect(await target.importAll(fileOf(lines))).toMatchObject({ runs: 2, kept: 0 });
  });

  it('refuses bytes that are no text', async () => {
    const store = await open();
    expect(await refusal(() => store.importAll(new Blob([new Uint8Array([0xff, 0xfe, 0x0a])])))).toMatch(
      /not UTF-8/,
    );
  });

  it('stores nothing where the space ends half-way', async () => {
    const source = await filled();
    const { blob, records } = await source.exportAll();
    freshIndexedDb();
    const target = await open();
    const original = IDBObjectStore.prototype.put;
    for (let good = 0; good < records; good++) {
      let left = good;
      vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (this: unknown, ...args) {
        if (left-- === 0) throw new DOMException('full', 'QuotaExceededError');
        return original.apply(this as IDBObjectStore, args);
      } as typeof original);
      expect(await refusal(() => target.importAll(blob))).toMatch(/full; nothing was changed/);
      vi.restoreAllMocks();
    }
    const db = await openDB('rollout-lab');
    for (const store of db.objectStoreNames) expect(await db.count(store)).toBe(0);
    expect(await target.importAll(blob)).toMatchObject({ runs: 2 });
  });
});

describe('base64', () => {
  it('gives every byte back and agrees with Node', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
        expect(toBase64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
        expect(fromBase64(toBase64(bytes))).toEqual(bytes);
        expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes);
      }),
    );
    const large = Uint8Array.from({ length: 200_000 }, (_, i) => (i * 31) % 256);
    expect(fromBase64(toBase64(large))).toEqual(large);
  });
});
