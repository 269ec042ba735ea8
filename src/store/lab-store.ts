import { LabError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import type { Trajectory } from '../trace/model.ts';
import { exportAll, importAll } from './archive.ts';
import type { Backend, Tx } from './backend.ts';
import { checkRecord, keyOf, type Records, unreadable } from './check.ts';
import { appendRows, readRows, removeRows, replaceRows } from './chunks.ts';
import {
  CHECKPOINT_VERSION,
  type CheckpointRecord,
  type DatasetRecord,
  type Key,
  type LabStore,
  type Listing,
  type LogRow,
  RECORD_VERSION,
  type Restore,
  type RowKind,
  type RunRecord,
  type StoreName,
  type TraceRecord,
} from './model.ts';
import { estimate, persist } from './space.ts';

const NOUNS = {
  datasets: 'task set',
  traces: 'trace file',
  runs: 'run',
  rows: 'stretch of rows',
  checkpoints: 'checkpoint',
};

type Owner = 'datasets' | 'traces' | 'runs';

/** What hangs on each kind of record. */
const KINDS: Record<Owner, readonly RowKind[]> = {
  datasets: ['tasks'],
  traces: ['trajectories'],
  runs: ['metrics', 'evaluations'],
};

/** Where time and names come from; no result depends on either. */
export interface StoreContext {
  now(): Date;
  newId(): string;
  storage: StorageManager | undefined;
}

/** The lab's memory on any backend. */
export function labStore(backend: Backend, context: StoreContext): LabStore {
  const now = () => context.now().toISOString();
  const header = (id: string | undefined) => ({
    version: RECORD_VERSION,
    id: id ?? context.newId(),
    createdAt: now(),
  });

  async function create<T extends DatasetRecord | TraceRecord>(
    store: Owner,
    record: T,
    kind: RowKind,
    rows: readonly Json[],
  ) {
    await backend.run('readwrite', [store, 'rows'], async (tx) => {
      await refuseTaken(tx, store, record.id);
      await putChecked(tx, store, record);
      await replaceRows(tx, record.id, kind, rows);
    });
    return structuredClone(record);
  }

  const read = <S extends StoreName>(store: S, key: Key) =>
    backend.run('readonly', [store], (tx) => need(tx, store, key));

  async function list<S extends Owner>(store: S): Promise<Listing<Records[S]>> {
    const raws = await backend.run('readonly', [store], (tx) => tx.list(store));
    const out: Listing<Records[S]> = { records: [], unreadable: [] };
    for (const raw of raws) {
      const checked = checkRecord(store, raw);
      if (checked.ok) out.records.push(checked.record);
      else out.unreadable.push(unreadable(store, raw, checked.reason));
    }
    out.records.sort((a, b) => (a.createdAt === b.createdAt ? 0 : a.createdAt < b.createdAt ? 1 : -1));
    return out;
  }

  /** Reads all rows of one kind; `T` is what its writer put there. */
  async function rowsOf<T>(store: Owner, id: string, kind: RowKind): Promise<T[]> {
    const rows = await backend.run('readonly', [store, 'rows'], async (tx) => {
      const counts: Partial<Record<RowKind, number>> = (await need(tx, store, id)).rows;
      return readRows(tx, id, kind, counts[kind] ?? 0);
    });
    return rows as T[];
  }

  async function append(id: string, kind: 'metrics' | 'evaluations', rows: readonly LogRow[]): Promise<void> {
    // A lost connection may be noticed after the rows went in: then the second try finds them and adds nothing.
    let start = -1;
    await backend.run('readwrite', ['runs', 'rows'], async (tx) => {
      const run = await need(tx, 'runs', id);
      const count = run.rows[kind];
      if (start >= 0 && count === start + rows.length) return;
      start = count;
      await appendRows(tx, id, kind, count, rows);
      await tx.put('runs', { ...run, rows: { ...run.rows, [kind]: count + rows.length }, updatedAt: now() });
    });
  }

  /** Deletes a record, readable or not, with all that hangs on it; what is returned puts all of it back. */
  async function remove(store: Owner, id: string, check?: (tx: Tx) => Promise<void>): Promise<Restore> {
    const stores: StoreName[] = ['datasets', 'traces', 'runs', 'rows', 'checkpoints'];
    const held = await backend.run('readwrite', stores, async (tx) => {
      const record = await tx.get(store, id);
      if (record === undefined) throw absent(store, id);
      await check?.(tx);
      const out: [StoreName, object][] = [[store, record as object]];
      await tx.delete(store, id);
      for (const kind of KINDS[store])
        for (const chunk of await removeRows(tx, id, kind)) out.push(['rows', chunk]);
      for (const checkpoint of store === 'runs' ? await tx.list('checkpoints', [id]) : []) {
        out.push(['checkpoints', checkpoint as object]);
        await tx.delete('checkpoints', keyOf('checkpoints', checkpoint as object));
      }
      return out;
    });
    return () =>
      backend.run('readwrite', stores, async (tx) => {
        await refuseTaken(tx, store, id);
        for (const [where, record] of held) await tx.put(where, record);
      });
  }

  return {
    kind: backend.kind,
    get notice() {
      return backend.notice;
    },

    saveDataset: ({ id, ...dataset }, tasks) =>
      create('datasets', { ...header(id), ...dataset, rows: { tasks: tasks.length } }, 'tasks', tasks),
    dataset: (id) => read('datasets', id),
    tasks: (id) => rowsOf<Json>('datasets', id, 'tasks'),
    datasets: () => list('datasets'),
    deleteDataset: (id) => remove('datasets', id, (tx) => refuseUsed(tx, id)),

    saveTrace: ({ id, ...trace }, trajectories) =>
      // Trajectories are plain data; only `result: undefined` is not JSON, and a missing field says the same.
      create(
        'traces',
        { ...header(id), ...trace, rows: { trajectories: trajectories.length } },
        'trajectories',
        trajectories as unknown as Json[],
      ),
    trajectories: (id) => rowsOf<Trajectory>('traces', id, 'trajectories'),
    traces: () => list('traces'),
    deleteTrace: (id) => remove('traces', id),

    async createRun({ id, ...run }) {
      const start = header(id);
      const record: RunRecord = {
        status: 'running',
        device: null,
        datasetId: null,
        finished: [],
        arm: null,
        step: 0,
        summary: null,
        error: null,
        ...run,
        ...start,
        updatedAt: start.createdAt,
        rows: { metrics: 0, evaluations: 0 },
      };
      await backend.run('readwrite', ['runs'], async (tx) => {
        await refuseTaken(tx, 'runs', record.id);
        await putChecked(tx, 'runs', record);
      });
      return structuredClone(record);
    },
    run: (id) => read('runs', id),
    runs: () => list('runs'),
    updateRun: (id, changes) =>
      backend.run('readwrite', ['runs'], async (tx) => {
        const record = { ...(await need(tx, 'runs', id)), ...changes, id, updatedAt: now() };
        await putChecked(tx, 'runs', record);
        return record;
      }),
    appendMetrics: (run, rows) => append(run, 'metrics', rows),
    metrics: (run) => rowsOf<LogRow>('runs', run, 'metrics'),
    appendEvaluations: (run, rows) => append(run, 'evaluations', rows),
    evaluations: (run) => rowsOf<LogRow>('runs', run, 'evaluations'),

    rewind: (id, arm, step) =>
      backend.run('readwrite', ['runs', 'rows'], async (tx) => {
        const run = await need(tx, 'runs', id);
        const counts = { ...run.rows };
        for (const kind of ['metrics', 'evaluations'] as const) {
          const rows = (await readRows(tx, id, kind, counts[kind])) as LogRow[];
          const kept = rows.filter((row) => row.arm !== arm || row.step <= step);
          if (kept.length === rows.length) continue;
          await replaceRows(tx, id, kind, kept);
          counts[kind] = kept.length;
        }
        await tx.put('runs', { ...run, rows: counts, updatedAt: now() });
      }),

    saveCheckpoint: (id, arm, { shape, step, parameters, moment1, moment2, training }) =>
      backend.run('readwrite', ['runs', 'checkpoints'], async (tx) => {
        const run = await need(tx, 'runs', id);
        const record: CheckpointRecord = {
          version: CHECKPOINT_VERSION,
          run: id,
          arm,
          shape,
          step,
          parameters,
          moment1,
          moment2,
          ...(training ? { training } : {}),
        };
        await putChecked(tx, 'checkpoints', record);
        await tx.put('runs', { ...run, arm, step, updatedAt: now() });
      }),
    checkpoint: (run, arm) =>
      backend.run('readonly', ['checkpoints'], async (tx) => {
        const raw = await tx.get('checkpoints', [run, arm]);
        return raw === undefined ? null : readable('checkpoints', [run, arm], raw);
      }),
    deleteRun: (id) => remove('runs', id),

    estimate: () => estimate(context.storage),
    persist: () => persist(context.storage),
    exportAll: () => exportAll(backend, now()),
    importAll: (file) => importAll(backend, file),
    close: () => backend.close(),
  };
}

async function need<S extends StoreName>(tx: Tx, store: S, key: Key): Promise<Records[S]> {
  const raw = await tx.get(store, key);
  if (raw === undefined) throw absent(store, key);
  return readable(store, key, raw);
}

function readable<S extends StoreName>(store: S, key: Key, raw: unknown): Records[S] {
  const checked = checkRecord(store, raw);
  if (checked.ok) return checked.record;
  throw new LabError(`The ${NOUNS[store]} ${shown(key)} cannot be read: ${checked.reason}`, {
    where: 'storage',
    remedy: 'It was left in place. Import an earlier export of it, or delete it.',
  });
}

async function putChecked<S extends StoreName>(tx: Tx, store: S, record: Records[S]): Promise<void> {
  const checked = checkRecord(store, record);
  if (!checked.ok) {
    throw new LabError(
      `The ${NOUNS[store]} ${shown(keyOf(store, record))} was not stored: ${checked.reason}`,
      {
        where: 'storage',
        remedy: 'Correct that field.',
      },
    );
  }
  await tx.put(store, record);
}

async function refuseTaken(tx: Tx, store: StoreName, id: string): Promise<void> {
  if ((await tx.get(store, id)) === undefined) return;
  throw new LabError(`There is a ${NOUNS[store]} ${id} already`, {
    where: 'storage',
    remedy: 'Give it another id, or delete the old one.',
  });
}

async function refuseUsed(tx: Tx, dataset: string): Promise<void> {
  const users = (await tx.list('runs')).filter((run) => (run as RunRecord).datasetId === dataset).length;
  if (users === 0) return;
  throw new LabError(`The task set ${dataset} is used by ${users} ${users === 1 ? 'run' : 'runs'}`, {
    where: 'storage',
    remedy: 'Delete those runs first.',
  });
}

function absent(store: StoreName, key: Key): LabError {
  return new LabError(`There is no ${NOUNS[store]} ${shown(key)}`, {
    where: 'storage',
    remedy: 'It may have been deleted in another tab: reload the list.',
  });
}

const shown = (key: Key) => [key].flat().join(' / ');
