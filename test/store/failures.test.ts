import { forceCloseDatabase, IDBObjectStore, IDBOpenDBRequest } from 'fake-indexeddb';
import { deleteDB, openDB } from 'idb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Backend, memoryBackend } from '../../src/store/backend.ts';
import { labStore } from '../../src/store/lab-store.ts';
import { openStore } from '../../src/store/open.ts';
import { UPGRADES, type UpgradeStep } from '../../src/store/schema.ts';
import { refusal } from '../lab/sample-method.ts';
import { checkpoint, clock, freshIndexedDb, RUN, rows } from './samples.ts';

const open = (options = {}) => openStore({ now: clock(), storage: undefined, patience: 200, ...options });

const LATER: UpgradeStep = {
  to: 2,
  what: 'a title for every run (a version that does not exist yet)',
  async apply(_db, tx) {
    for await (const cursor of tx.objectStore('runs'))
      await cursor.update({ ...cursor.value, title: `Run of ${cursor.value.method}` });
  },
};

/** A connection of its own, past the store. */
const raw = (version?: number) => openDB('rollout-lab', version);

beforeEach(freshIndexedDb);
afterEach(() => vi.restoreAllMocks());

describe('versions of the database', () => {
  it('count up from 1 without a gap', () => {
    expect(UPGRADES.map((step) => step.to)).toEqual(UPGRADES.map((_, i) => i + 1));
  });

  it('are taken step by step, with all data kept', async () => {
    const first = await open({ steps: UPGRADES.slice(0, 1) });
    const run = await first.createRun(RUN);
    await first.appendMetrics(run.id, rows('graph', 1, 300));
    await first.saveCheckpoint(run.id, 'graph', checkpoint(3));
    first.close();
    const later = await open({ steps: [...UPGRADES, LATER] });
    expect(later.kind).toBe('indexeddb');
    expect(await later.run(run.id)).toMatchObject({ ...RUN, id: run.id, title: 'Run of toolspace', step: 3 });
    expect(await later.metrics(run.id)).toEqual(rows('graph', 1, 300));
    expect(await later.checkpoint(run.id, 'graph')).toMatchObject(checkpoint(3));
    later.close();
    expect((await raw()).version).toBe(2);
  });

  it('stay where they are when a step fails', async () => {
    const first = await open();
    const run = await first.createRun(RUN);
    first.close();
    const broken: UpgradeStep = {
      ...LATER,
      async apply(db, tx) {
        await LATER.apply(db, tx);
        throw new Error('boom');
      },
    };
    const later = await open({ steps: [...UPGRADES, broken] });
    expect(later.kind).toBe('memory');
    expect(later.notice).toMatch(
      /could not be brought to this version of the lab \(boom\).*kept in this tab only/,
    );
    const again = await open();
    expect(await again.run(run.id)).toEqual(run);
  });

  it('newer than the lab are left in place', async () => {
    const newer = await open({ steps: [...UPGRADES, LATER] });
    const run = await newer.createRun(RUN);
    newer.close();
    const store = await open();
    expect(store.kind).toBe('memory');
    expect(store.notice).toMatch(/belongs to a newer version of the lab\. It was left in place\. Reload/);
    await store.createRun(RUN);
    expect((await (await open({ steps: [...UPGRADES, LATER] })).run(run.id)).id).toBe(run.id);
  });

  it('with stores missing are not touched', async () => {
    const db = await openDB('rollout-lab', 1, {
      upgrade: (db) => void db.createObjectStore('runs', { keyPath: 'id' }),
    });
    await db.put('runs', { id: 'x' });
    db.close();
    const store = await open();
    expect(store.notice).toMatch(/damaged: datasets, traces, rows, checkpoints missing/);
    expect(await (await raw()).count('runs')).toBe(1);
  });
});

describe('other tabs', () => {
  it('that upgrade take over: this one closes and says so', async () => {
    const notices: string[] = [];
    const old = await open({ onNotice: (notice: string) => notices.push(notice) });
    const run = await old.createRun(RUN);
    const later = await open({ steps: [...UPGRADES, LATER] });
    expect((await later.run(run.id)).id).toBe(run.id);
    expect(notices).toEqual([old.notice]);
    expect(old.notice).toMatch(/Another tab has opened a newer version/);
    expect(await refusal(() => old.createRun(RUN))).toMatch(/Another tab has opened/);
  });

  it('that do not let go are waited for and then named, and are not blocked for ever', async () => {
    const db = await openDB('rollout-lab', 1, {
      upgrade: (db, from, to, tx, event) => void [from, to, event, UPGRADES[0]!.apply(db, tx)],
    });
    const store = await open({ steps: [...UPGRADES, LATER] });
    expect(store.kind).toBe('memory');
    expect(store.notice).toMatch(/Another tab holds an older version .* Close the other tabs/);
    db.close();
    const again = await open({ steps: [...UPGRADES, LATER] });
    expect(again.kind).toBe('indexeddb');
    again.close();
    await deleteDB('rollout-lab', { blocked: () => expect.unreachable('a connection was left open') });
  });
});

describe('a browser without storage', () => {
  it('that throws at the mention of it gets a store in memory', async () => {
    const held = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')!;
    Object.defineProperty(globalThis, 'indexedDB', {
      configurable: true,
      get() {
        throw new DOMException('denied', 'SecurityError');
      },
    });
    const store = await open();
    Object.defineProperty(globalThis, 'indexedDB', held);
    expect(store.kind).toBe('memory');
    const run = await store.createRun(RUN);
    expect(await store.run(run.id)).toEqual(run);
  });

  it('that refuses to open, or never answers, gets one too', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new DOMException(
        'A mutation operation was attempted on a database that did not allow mutations.',
        'InvalidStateError',
      );
    });
    expect((await open()).notice).toMatch(/did not allow mutations.*Leave private browsing/);
    vi.spyOn(indexedDB, 'open').mockImplementation(
      () => new IDBOpenDBRequest() as unknown as globalThis.IDBOpenDBRequest,
    );
    expect((await open()).notice).toMatch(/storage does not answer/);
  });
});

describe('a lost connection', () => {
  it('is opened again, once for each transaction', async () => {
    const store = await open();
    const run = await store.createRun(RUN);
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction');
    transaction.mockImplementationOnce(() => {
      throw new DOMException(
        'Connection to Indexed Database server lost. Refresh the page to try again',
        'UnknownError',
      );
    });
    await store.appendMetrics(run.id, rows('graph', 1, 3));
    expect(await store.metrics(run.id)).toEqual(rows('graph', 1, 3));
    transaction.mockImplementation(() => {
      throw new DOMException(
        'Connection to Indexed Database server lost. Refresh the page to try again',
        'UnknownError',
      );
    });
    expect(await refusal(() => store.run(run.id))).toMatch(
      /storage failed \(Connection to Indexed Database server lost/,
    );
    expect(transaction.mock.calls.length).toBe(5);
    transaction.mockRestore();
    expect((await store.run(run.id)).id).toBe(run.id);
  });

  it('that the browser closed is opened again', async () => {
    const connections: IDBDatabase[] = [];
    const original = IDBDatabase.prototype.transaction;
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...args) {
      connections.push(this);
      return original.apply(this, args);
    });
    const store = await open();
    const run = await store.createRun(RUN);
    forceCloseDatabase(connections[0]! as unknown as Parameters<typeof forceCloseDatabase>[0]);
    await store.updateRun(run.id, { status: 'done' });
    expect(connections.at(-1)).not.toBe(connections[0]);
    expect((await store.run(run.id)).status).toBe('done');
  });

  it('noticed only after the rows went in does not add them twice', async () => {
    const memory = memoryBackend('');
    const run: Backend['run'] = async (mode, stores, body) => {
      await memory.run(mode, stores, body);
      return memory.run(mode, stores, body);
    };
    const context = { now: clock(), newId: () => 'r', storage: undefined };
    const { id } = await labStore(memory, context).createRun(RUN);
    await labStore({ ...memory, run }, context).appendMetrics(id, rows('graph', 1, 300));
    expect(await labStore(memory, context).metrics(id)).toEqual(rows('graph', 1, 300));
  });
});

describe('a failure in the middle of a transaction', () => {
  const quota = () => new DOMException('The quota has been exceeded.', 'QuotaExceededError');

  /** Lets `good` writes pass and fails the next one. */
  function failAfter(good: number, error: () => unknown): void {
    const original = IDBObjectStore.prototype.put;
    let left = good;
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (this: unknown, ...args) {
      if (left-- === 0) throw error();
      return original.apply(this as IDBObjectStore, args);
    } as typeof original);
  }

  it('keeps the old checkpoint and its step', async () => {
    const store = await open();
    const run = await store.createRun(RUN);
    await store.saveCheckpoint(run.id, 'graph', checkpoint(10));
    failAfter(1, quota);
    expect(await refusal(() => store.saveCheckpoint(run.id, 'graph', checkpoint(20)))).toMatch(
      /storage for this site is full; nothing was changed — Export what you want to keep/,
    );
    vi.restoreAllMocks();
    expect(await store.checkpoint(run.id, 'graph')).toMatchObject(checkpoint(10));
    expect((await store.run(run.id)).step).toBe(10);
  });

  it('keeps the rows as they were, wherever it strikes', async () => {
    const store = await open();
    const run = await store.createRun(RUN);
    await store.appendMetrics(run.id, rows('graph', 1, 200));
    for (const good of [0, 1, 2, 3]) {
      failAfter(good, quota);
      expect(await refusal(() => store.appendMetrics(run.id, rows('graph', 201, 900)))).toMatch(/full/);
      vi.restoreAllMocks();
      expect(await store.metrics(run.id)).toEqual(rows('graph', 1, 200));
    }
  });

  it('keeps a run that could not be deleted, and a rewind that could not be finished undone', async () => {
    const store = await open();
    const run = await store.createRun(RUN);
    await store.appendMetrics(run.id, rows('graph', 1, 700));
    failAfter(1, quota);
    await refusal(() => store.rewind(run.id, 'graph', 400));
    const original = IDBObjectStore.prototype.delete;
    let left = 2;
    vi.spyOn(IDBObjectStore.prototype, 'delete').mockImplementation(function (this: unknown, ...args) {
      if (left-- === 0) throw new DOMException('disk', 'UnknownError');
      return original.apply(this as IDBObjectStore, args);
    } as typeof original);
    expect(await refusal(() => store.deleteRun(run.id))).toMatch(/storage failed \(disk\)/);
    vi.restoreAllMocks();
    expect(await store.metrics(run.id)).toEqual(rows('graph', 1, 700));
  });

  it('reports a quota that is passed only at the commit', async () => {
    const store = await open();
    const original = IDBDatabase.prototype.transaction;
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementationOnce(function (
      this: IDBDatabase,
      ...args
    ) {
      const tx = original.apply(this, args);
      queueMicrotask(() => {
        Object.defineProperty(tx, 'error', { get: quota });
        tx.abort();
      });
      return tx;
    });
    expect(await refusal(() => store.createRun(RUN))).toMatch(/storage for this site is full/);
    expect((await store.runs()).records).toEqual([]);
  });
});

describe('records that cannot be read', () => {
  it('are reported, refused and left in place', async () => {
    const store = await open();
    const good = await store.createRun(RUN);
    const db = await raw();
    const damaged = [
      { id: 'newer', version: 2, flavour: 'unknown' },
      { ...good, id: 'half', seed: 'three' },
      { id: 'bare' },
    ];
    for (const record of damaged) await db.put('runs', record);
    const listing = await store.runs();
    expect(listing.records).toEqual([good]);
    expect(listing.unreadable).toEqual([
      { store: 'runs', key: 'bare', reason: expect.stringMatching(/^damaged: version/) },
      { store: 'runs', key: 'half', reason: expect.stringMatching(/^damaged: seed/) },
      { store: 'runs', key: 'newer', reason: expect.stringMatching(/newer lab \(record version 2\)/) },
    ]);
    expect(await refusal(() => store.run('newer'))).toMatch(
      /The run newer cannot be read: it was written by a newer lab/,
    );
    expect(await refusal(() => store.updateRun('half', { status: 'done' }))).toMatch(/left in place/);
    for (const record of damaged) expect(await db.get('runs', record.id)).toEqual(record);
    const restore = await store.deleteRun('newer');
    await restore();
    expect(await db.get('runs', 'newer')).toEqual(damaged[0]);
  });

  it('that lost some of their rows say so', async () => {
    const store = await open();
    const { id } = await store.createRun(RUN);
    await store.appendMetrics(id, rows('graph', 1, 600));
    const db = await raw();
    await db.delete('rows', [id, 'metrics', 1]);
    expect(await refusal(() => store.metrics(id))).toMatch(/Some metrics of .* are missing/);
    expect(await db.count('rows')).toBe(2);
    await db.put('rows', { owner: id, kind: 'metrics', chunk: 1, version: 9, rows: [] });
    expect(await refusal(() => store.metrics(id))).toMatch(/written by a newer lab/);
  });
});
