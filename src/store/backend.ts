import { keyOf } from './check.ts';
import { storageError } from './failure.ts';
import { type Key, STORES, type StoreName } from './model.ts';

/** One transaction: all of it happens or nothing. Await nothing but its own methods inside. */
export interface Tx {
  /** The record, as it is stored; `undefined` where there is none. */
  get(store: StoreName, key: Key): Promise<unknown>;
  /** Records in key order, all or those whose key begins so. */
  list(store: StoreName, prefix?: (string | number)[]): Promise<unknown[]>;
  put(store: StoreName, record: object): Promise<void>;
  delete(store: StoreName, key: Key): Promise<void>;
}

export type Mode = 'readonly' | 'readwrite';

/** Something that runs transactions. `body` may be run twice, where the connection was lost the first time. */
export interface Backend {
  readonly kind: 'indexeddb' | 'memory';
  readonly notice: string;
  /** @throws whatever `body` throws, after undoing what it did; else a LabError. */
  run<T>(mode: Mode, stores: readonly StoreName[], body: (tx: Tx) => Promise<T>): Promise<T>;
  close(): void;
}

type Tables = Map<StoreName, Map<string, { key: Key; record: object }>>;

/** The same as IndexedDB in this tab's memory: copies in and out, one transaction after another, undone on failure. */
export function memoryBackend(notice: string): Backend {
  let tables: Tables = new Map(STORES.map((store) => [store, new Map()]));
  let last: Promise<unknown> = Promise.resolve();
  return {
    kind: 'memory',
    notice,
    run(_mode, _stores, body) {
      const turn = last.then(async () => {
        const draft: Tables = new Map([...tables].map(([store, table]) => [store, new Map(table)]));
        const result = await body(memoryTx(draft)).catch((error: unknown) => {
          throw storageError(error);
        });
        tables = draft;
        return result;
      });
      last = turn.catch(() => {});
      return turn;
    },
    close() {},
  };
}

function memoryTx(tables: Tables): Tx {
  const table = (store: StoreName) => tables.get(store)!;
  const name = (key: Key) => JSON.stringify(key);
  return {
    async get(store, key) {
      return structuredClone(table(store).get(name(key))?.record);
    },
    async list(store, prefix = []) {
      return [...table(store).values()]
        .filter(({ key }) => prefix.every((part, i) => [key].flat()[i] === part))
        .sort((a, b) => compareKeys(a.key, b.key))
        .map(({ record }) => structuredClone(record));
    },
    async put(store, record) {
      const key = keyOf(store, record);
      table(store).set(name(key), { key, record: structuredClone(record) });
    },
    async delete(store, key) {
      table(store).delete(name(key));
    },
  };
}

/** Key order of IndexedDB for the keys used here: part by part, numbers before texts. */
function compareKeys(a: Key, b: Key): number {
  const [left, right] = [[a].flat(), [b].flat()];
  for (const [i, part] of left.entries()) {
    const other = right[i]!;
    if (part === other) continue;
    if (typeof part !== typeof other) return typeof part === 'number' ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return 0;
}
