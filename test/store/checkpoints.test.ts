import { IDBObjectStore } from 'fake-indexeddb';
import { openDB } from 'idb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memoryBackend } from '../../src/store/backend.ts';
import { labStore } from '../../src/store/lab-store.ts';
import type { CheckpointData } from '../../src/store/model.ts';
import { openStore } from '../../src/store/open.ts';
import { checkpoint, clock, freshIndexedDb, RUN } from './samples.ts';

const open = () => openStore({ now: clock(), storage: undefined });
const withState = (step: number): CheckpointData => ({
  ...checkpoint(step),
  training: {
    cursor: { epoch: 2, place: 5 },
    streams: { '3/sft/batches': 2, '3/sft/names': step },
    run: { ...RUN, arm: 'graph', taskSet: '0123' },
    vocabulary: 'ffff',
  },
});

/** Puts a record past the store, as another version of the lab left it. */
async function plant(record: object): Promise<void> {
  const db = await openDB('rollout-lab');
  await db.put('checkpoints', record);
  db.close();
}

beforeEach(freshIndexedDb);
afterEach(() => vi.restoreAllMocks());

describe('a stored checkpoint', () => {
  it('keeps the state of the training, also through an export', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    await store.saveCheckpoint(id, 'graph', withState(30));
    expect(await store.checkpoint(id, 'graph')).toEqual({
      ...withState(30),
      run: id,
      arm: 'graph',
      version: 2,
    });
    const { blob } = await store.exportAll();
    store.close();
    freshIndexedDb();
    const other = await open();
    await other.importAll(blob);
    expect(await other.checkpoint(id, 'graph')).toMatchObject(withState(30));
    other.close();
  });

  it('of version 1, which had no such state, is read as one of today, and exported as such', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    await plant({ version: 1, run: id, arm: 'graph', ...checkpoint(20) });
    const read = await store.checkpoint(id, 'graph');
    expect(read).toEqual({ version: 2, run: id, arm: 'graph', ...checkpoint(20) });
    const { blob, leftOut } = await store.exportAll();
    expect(leftOut).toEqual([]);
    store.close();
    freshIndexedDb();
    const other = await open();
    await other.importAll(blob);
    expect(await other.checkpoint(id, 'graph')).toEqual(read);
    other.close();
  });

  it('of a newer version is refused with a sentence and left in place', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    await plant({ version: 3, run: id, arm: 'graph', ...checkpoint(20) });
    await expect(store.checkpoint(id, 'graph')).rejects.toThrow(
      /written by a newer lab \(record version 3\)/,
    );
    store.close();
    const db = await openDB('rollout-lab');
    expect((await db.get('checkpoints', [id, 'graph'])).version).toBe(3);
    db.close();
  });

  it('is not stored with a state that is none', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    const bad = {
      ...withState(3),
      training: { ...withState(3).training!, cursor: { epoch: 0, place: 0.5 } },
    };
    await expect(store.saveCheckpoint(id, 'graph', bad)).rejects.toThrow(/training\.cursor\.place/);
    expect(await store.checkpoint(id, 'graph')).toBeNull();
    store.close();
  });
});

describe('a save that is interrupted', () => {
  it('leaves the checkpoint before it and the run that names it, in IndexedDB', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    await store.saveCheckpoint(id, 'graph', withState(10));
    const before = await store.run(id);
    const put = IDBObjectStore.prototype.put;
    // The first record goes in, the second does not: what the first did must not stand.
    for (const survive of [0, 1]) {
      let puts = 0;
      vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (this: IDBObjectStore, value) {
        if (puts++ >= survive) throw new DOMException('the disk is full', 'QuotaExceededError');
        return put.call(this, value);
      });
      await expect(store.saveCheckpoint(id, 'graph', withState(20))).rejects.toThrow();
      expect(puts).toBe(survive + 1);
      vi.restoreAllMocks();
      expect(await store.checkpoint(id, 'graph')).toMatchObject(withState(10));
      expect(await store.run(id)).toEqual(before);
    }
    await store.saveCheckpoint(id, 'graph', withState(20));
    expect(await store.checkpoint(id, 'graph')).toMatchObject(withState(20));
    store.close();
  });

  it('leaves them in this tab’s memory, too', async () => {
    const backend = memoryBackend('');
    let fail = false;
    const flaky: typeof backend = {
      ...backend,
      run: (mode, stores, body) =>
        backend.run(mode, stores, (tx) =>
          body({
            ...tx,
            put: async (store, record) => {
              if (fail && store === 'runs') throw new Error('the tab ran out of memory');
              await tx.put(store, record);
            },
          }),
        ),
    };
    const store = labStore(flaky, { now: clock(), newId: () => 'r1', storage: undefined });
    const { id } = await store.createRun(RUN);
    await store.saveCheckpoint(id, 'graph', withState(10));
    fail = true;
    await expect(store.saveCheckpoint(id, 'graph', withState(20))).rejects.toThrow();
    fail = false;
    expect(await store.checkpoint(id, 'graph')).toMatchObject(withState(10));
    expect((await store.run(id)).step).toBe(10);
  });
});
