import { type IDBPDatabase, type IDBPTransaction, type OpenDBCallbacks, openDB } from 'idb';
import { LabError } from '../base/errors.ts';
import type { Backend, Mode, Tx } from './backend.ts';
import { isLost, storageError } from './failure.ts';
import { STORES, type StoreName } from './model.ts';
import type { UpgradeStep } from './schema.ts';

/** How to open the database. */
export interface OpenOptions {
  name: string;
  steps: readonly UpgradeStep[];
  /** Milliseconds to wait for a database that does not open, as one that another tab holds. An upgrade may take longer. */
  patience: number;
  /** Hears of anything that changes after opening: another tab took over, the connection is lost for good. */
  onNotice(notice: string): void;
}

const TAKEN =
  'Another tab has opened a newer version of the lab: this tab stores nothing more. Reload it to go on.';

/**
 * The lab's database. A lost connection is opened again, once for each transaction.
 * @throws LabError where it cannot be opened; what is stored stays as it is.
 */
export async function indexedBackend(options: OpenOptions): Promise<Backend> {
  let notice = '';
  let closed = false;
  let db: Promise<IDBPDatabase> | null = null;

  function connect(): Promise<IDBPDatabase> {
    if (closed) {
      return Promise.reject(
        new LabError(notice || 'The storage is closed', { where: 'storage', remedy: 'Reload the page.' }),
      );
    }
    db ??= openDatabase(options, {
      terminated: drop,
      blocking() {
        close();
        notice = TAKEN;
        options.onNotice(notice);
      },
    });
    db.catch(drop);
    return db;
  }

  /** Forgets the connection; the next transaction opens another. */
  function drop(): void {
    db?.then((open) => open.close()).catch(() => {});
    db = null;
  }

  function close(): void {
    closed = true;
    drop();
  }

  async function attempt<T>(
    mode: Mode,
    stores: readonly StoreName[],
    body: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    const tx = (await connect()).transaction([...stores], mode);
    // A failed transaction rejects `done` too; it is awaited below, where it counts.
    tx.done.catch(() => {});
    try {
      const result = await body(indexedTx(tx));
      await tx.done;
      return result;
    } catch (error) {
      throw await undo(tx, error);
    }
  }

  await connect();
  return {
    kind: 'indexeddb',
    get notice() {
      return notice;
    },
    async run(mode, stores, body) {
      try {
        return await attempt(mode, stores, body);
      } catch (error) {
        if (!isLost(error)) throw storageError(error);
        drop();
        return await attempt(mode, stores, body).catch((again: unknown) => {
          throw storageError(again);
        });
      }
    },
    close,
  };
}

type Transaction = IDBPTransaction<unknown, string[], Mode>;

/** Takes back all that the transaction did. Where it had failed by itself, its own error says more than the request's. */
async function undo(tx: Transaction, error: unknown): Promise<unknown> {
  try {
    tx.abort();
  } catch {
    // It is over already.
  }
  await tx.done.catch(() => {});
  const aborted = error instanceof DOMException && error.name === 'AbortError';
  return aborted && tx.error ? tx.error : error;
}

function indexedTx(tx: Transaction): Tx {
  return {
    get: (store, key) => tx.objectStore(store).get(key),
    list(store, prefix) {
      // Lists sort after texts and numbers, so an empty list is an upper bound of whatever follows the prefix.
      const range = prefix ? IDBKeyRange.bound(prefix, [...prefix, []]) : undefined;
      return tx.objectStore(store).getAll(range);
    },
    async put(store, record) {
      await tx.objectStore(store).put!(record);
    },
    async delete(store, key) {
      await tx.objectStore(store).delete!(key);
    },
  };
}

interface Events {
  terminated(): void;
  blocking(): void;
}

async function openDatabase(options: OpenOptions, events: Events): Promise<IDBPDatabase> {
  const { name, steps, patience } = options;
  const version = steps.at(-1)?.to ?? 1;
  let opened: IDBPDatabase;
  let late = false;
  let stopWaiting = () => {};
  let blocked = false;
  let failure: unknown;
  const callbacks: OpenDBCallbacks<unknown> = {
    async upgrade(db, from, _to, tx) {
      stopWaiting();
      tx.done.catch(() => {});
      try {
        for (const step of steps) if (step.to > from) await step.apply(db, tx);
      } catch (error) {
        // A rejected upgrade does not abort by itself: the version would be raised over half-migrated data.
        failure = error;
        tx.abort();
      }
    },
    blocked() {
      blocked = true;
    },
    blocking: events.blocking,
    terminated: events.terminated,
  };
  // Inside a promise, since some browsers throw at `open` itself.
  const opening = Promise.resolve().then(() => openDB(name, version, callbacks));
  const giveUp = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      late = true;
      reject(blocked ? heldByOther() : silent());
    }, patience);
    stopWaiting = () => clearTimeout(timer);
  });
  // One that opens after we gave up is closed again, or it would block other tabs.
  opening.then((db) => late && db.close()).catch(() => {});
  try {
    opened = await Promise.race([opening, giveUp]);
  } catch (error) {
    throw failure === undefined ? openingError(error, name) : upgradeError(failure);
  } finally {
    stopWaiting();
  }
  const missing = STORES.filter((store) => !opened.objectStoreNames.contains(store));
  if (missing.length > 0) {
    opened.close();
    throw new LabError(`The stored data of the lab is damaged: ${missing.join(', ')} missing`, {
      where: 'storage',
      remedy: "It was left in place. Clear this site's data in the browser's settings to begin anew.",
    });
  }
  return opened;
}

function heldByOther(): LabError {
  return new LabError('Another tab holds an older version of the storage open', {
    where: 'storage',
    remedy: 'Close the other tabs of the lab and reload this one.',
  });
}

function silent(): LabError {
  return new LabError("The browser's storage does not answer", {
    where: 'storage',
    remedy: 'Reload the page, or restart the browser.',
  });
}

function upgradeError(cause: unknown): LabError {
  const why = cause instanceof Error || cause instanceof DOMException ? cause.message : String(cause);
  return new LabError(`The stored data could not be brought to this version of the lab (${why})`, {
    where: 'storage',
    remedy: 'It was left as it was. Reload the page; if that does not help, please report it.',
    cause,
  });
}

function openingError(error: unknown, name: string): LabError {
  if (error instanceof LabError) return error;
  const kind = error instanceof Error || error instanceof DOMException ? error.name : '';
  if (kind === 'VersionError') {
    return new LabError('The stored data belongs to a newer version of the lab', {
      where: 'storage',
      remedy: 'It was left in place. Reload the page to get the newest lab.',
      cause: error,
    });
  }
  const why = error instanceof Error || error instanceof DOMException ? error.message || kind : String(error);
  return new LabError(`The browser does not let the lab store anything (${name}: ${why})`, {
    where: 'storage',
    remedy: 'Leave private browsing or allow site data, then reload.',
    cause: error,
  });
}
