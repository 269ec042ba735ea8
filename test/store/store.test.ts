import { beforeEach, describe, expect, it } from 'vitest';
import { CHUNK_ROWS } from '../../src/store/chunks.ts';
import type { LabStore } from '../../src/store/model.ts';
import { openStore } from '../../src/store/open.ts';
import { refusal } from '../lab/sample-method.ts';
import { checkpoint, clock, freshIndexedDb, RUN, rows, TRAJECTORY } from './samples.ts';

/** The same facts hold in the browser's storage and in memory. */
describe.each(['indexeddb', 'memory'] as const)('a store in %s', (kind) => {
  let store: LabStore;
  beforeEach(async () => {
    freshIndexedDb();
    if (kind === 'memory') Reflect.set(globalThis, 'indexedDB', undefined);
    store = await openStore({ now: clock(), storage: undefined });
  });

  it('says what it is', () => {
    expect(store.kind).toBe(kind);
    if (kind === 'memory') expect(store.notice).toMatch(/offers no storage\. Runs are kept in this tab only/);
    else expect(store.notice).toBe('');
  });

  it('keeps task sets, traces and runs, newest first', async () => {
    const tasks = Array.from({ length: 600 }, (_, i) => ({ id: `task ${i}`, text: `Close T-${i}` }));
    const set = await store.saveDataset(
      { method: 'toolspace', hash: 'abc', counts: { train: 500, heldOut: 100 } },
      tasks,
    );
    expect(await store.dataset(set.id)).toEqual(set);
    expect(await store.tasks(set.id)).toEqual(tasks);
    const trace = await store.saveTrace({ path: 'a.jsonl', format: 'claude', counts: { calls: 1 } }, [
      TRAJECTORY,
    ]);
    expect(await store.trajectories(trace.id)).toEqual([TRAJECTORY]);
    expect((await store.traces()).records).toEqual([trace]);
    const first = await store.createRun(RUN);
    const second = await store.createRun({ ...RUN, datasetId: set.id });
    expect(await store.runs()).toEqual({ records: [second, first], unreadable: [] });
    expect(first).toMatchObject({ ...RUN, status: 'running', step: 0, finished: [], error: null });
  });

  it('stores copies', async () => {
    const run = await store.createRun(RUN);
    run.config.batch = 999;
    (await store.run(run.id)).config.batch = 999;
    expect((await store.run(run.id)).config.batch).toBe(32);
  });

  it('updates a run, its date and nothing else', async () => {
    const run = await store.createRun(RUN);
    const done = await store.updateRun(run.id, { status: 'done', summary: { success: 0.5 } });
    expect(done).toEqual({ ...run, status: 'done', summary: { success: 0.5 }, updatedAt: done.updatedAt });
    expect(done.updatedAt > run.updatedAt).toBe(true);
    expect(await store.run(run.id)).toEqual(done);
  });

  it('appends rows over the edges of chunks', async () => {
    const { id } = await store.createRun(RUN);
    const all = rows('graph', 1, 3 * CHUNK_ROWS + 7);
    for (let at = 0; at < all.length; at += 100) await store.appendMetrics(id, all.slice(at, at + 100));
    await store.appendEvaluations(id, rows('graph', 50, 50));
    await store.appendMetrics(id, []);
    expect(await store.metrics(id)).toEqual(all);
    expect(await store.evaluations(id)).toEqual(rows('graph', 50, 50));
    expect((await store.run(id)).rows).toEqual({ metrics: all.length, evaluations: 1 });
  });

  it('loses no row where two appends overlap', async () => {
    const { id } = await store.createRun(RUN);
    await Promise.all([
      store.appendMetrics(id, rows('a', 1, 300)),
      store.appendMetrics(id, rows('b', 1, 300)),
    ]);
    expect((await store.metrics(id)).length).toBe(600);
  });

  it('rewinds one arm to its checkpoint', async () => {
    const { id } = await store.createRun(RUN);
    await store.appendMetrics(id, rows('graph', 1, 400));
    await store.appendMetrics(id, rows('none', 1, 400));
    await store.rewind(id, 'none', 120);
    expect(await store.metrics(id)).toEqual([...rows('graph', 1, 400), ...rows('none', 1, 120)]);
    await store.appendMetrics(id, rows('none', 121, 130));
    expect((await store.metrics(id)).at(-1)).toMatchObject({ arm: 'none', step: 130 });
  });

  it('keeps the last checkpoint of each arm, bit for bit, and notes where the run stands', async () => {
    const { id } = await store.createRun(RUN);
    await store.saveCheckpoint(id, 'graph', checkpoint(10));
    await store.saveCheckpoint(id, 'graph', checkpoint(20));
    await store.saveCheckpoint(id, 'none', checkpoint(5));
    expect(await store.checkpoint(id, 'graph')).toMatchObject(checkpoint(20));
    expect(await store.checkpoint(id, 'none')).toMatchObject(checkpoint(5));
    expect(await store.checkpoint(id, 'random')).toBeNull();
    expect(await store.run(id)).toMatchObject({ arm: 'none', step: 5 });
  });

  it('deletes a run with all that hangs on it, and brings it back', async () => {
    const { id } = await store.createRun(RUN);
    const other = await store.createRun(RUN);
    await store.appendMetrics(id, rows('graph', 1, 300));
    await store.appendMetrics(other.id, rows('graph', 1, 3));
    await store.saveCheckpoint(id, 'graph', checkpoint(10));
    const before = await store.run(id);
    const restore = await store.deleteRun(id);
    expect(await refusal(() => store.run(id))).toMatch(/There is no run/);
    expect(await refusal(() => store.metrics(id))).toMatch(/There is no run/);
    expect(await store.checkpoint(id, 'graph')).toBeNull();
    expect(await store.metrics(other.id)).toEqual(rows('graph', 1, 3));
    await restore();
    expect(await store.run(id)).toEqual(before);
    expect(await store.metrics(id)).toEqual(rows('graph', 1, 300));
    expect(await store.checkpoint(id, 'graph')).toMatchObject(checkpoint(10));
    expect(await refusal(restore)).toMatch(/already/);
  });

  it('does not delete a task set under a run', async () => {
    const set = await store.saveDataset({ method: 'toolspace', hash: 'abc', counts: {} }, [1, 2]);
    const run = await store.createRun({ ...RUN, datasetId: set.id });
    expect(await refusal(() => store.deleteDataset(set.id))).toMatch(
      /used by 1 run — Delete those runs first/,
    );
    expect(await store.tasks(set.id)).toEqual([1, 2]);
    await store.deleteRun(run.id);
    const restore = await store.deleteDataset(set.id);
    expect((await store.datasets()).records).toEqual([]);
    await restore();
    expect(await store.tasks(set.id)).toEqual([1, 2]);
  });

  it('undoes a transaction that fails half-way', async () => {
    const { id } = await store.createRun(RUN);
    await store.appendMetrics(id, rows('graph', 1, 10));
    const bad = [
      ...rows('graph', 11, 600),
      { arm: 'graph', step: 601, loss: (() => 1) as unknown as number },
    ];
    expect(await refusal(() => store.appendMetrics(id, bad))).toMatch(/not plain data|storage failed/);
    expect(await store.metrics(id)).toEqual(rows('graph', 1, 10));
    await store.appendMetrics(id, rows('graph', 11, 12));
    expect(await store.metrics(id)).toEqual(rows('graph', 1, 12));
  });

  it('refuses what it could not read again', async () => {
    const run = await store.createRun(RUN);
    expect(await refusal(() => store.createRun({ ...RUN, id: run.id }))).toMatch(/There is a run .* already/);
    expect(await refusal(() => store.createRun({ ...RUN, seed: -1 }))).toMatch(/not stored: damaged: seed/);
    expect(await refusal(() => store.updateRun(run.id, { step: 1.5 }))).toMatch(/step/);
    expect(
      await refusal(() =>
        store.saveCheckpoint(run.id, 'graph', { ...checkpoint(1), moment2: new Float32Array(3) }),
      ),
    ).toMatch(/differ in length/);
    expect(await refusal(() => store.saveCheckpoint('nobody', 'graph', checkpoint(1)))).toMatch(
      /There is no run nobody/,
    );
    expect(await store.run(run.id)).toEqual(run);
    expect(await store.checkpoint(run.id, 'graph')).toBeNull();
  });
});

describe('space', () => {
  const storage = (parts: object) => parts as StorageManager;

  it('is told in bytes, with the promise not to evict', async () => {
    const store = await openStore({
      storage: storage({
        estimate: async () => ({ usage: 30, quota: 100 }),
        persisted: async () => true,
        persist: async () => true,
      }),
    });
    expect(await store.estimate()).toEqual({ used: 30, left: 70, persisted: true });
    expect(await store.persist()).toBe(true);
  });

  it('is unknown where the browser does not say or refuses', async () => {
    const refusing = async () => {
      throw new Error('SecurityError');
    };
    for (const parts of [
      undefined,
      storage({ estimate: refusing, persist: refusing }),
      storage({ estimate: async () => ({}) }),
    ]) {
      const store = await openStore({ storage: parts });
      expect(await store.estimate()).toBeNull();
      expect(await store.persist()).toBe(false);
    }
  });
});
