import type { IDBPDatabase, IDBPTransaction } from 'idb';
import { KEYS, type StoreName } from './model.ts';

/** One step of the database's history: takes a database of version `to` − 1 to version `to`, in one transaction. */
export interface UpgradeStep {
  to: number;
  what: string;
  apply(db: IDBPDatabase, tx: IDBPTransaction<unknown, string[], 'versionchange'>): void | Promise<void>;
}

/** Every version there ever was. Steps are added at the end and never changed: somebody's data stands at each of them. */
export const UPGRADES: readonly UpgradeStep[] = [
  {
    to: 1,
    what: 'datasets, traces and runs, their rows in chunks, and checkpoints',
    apply(db) {
      for (const store of Object.keys(KEYS) as StoreName[]) {
        const fields = [...KEYS[store]];
        db.createObjectStore(store, { keyPath: fields.length === 1 ? fields[0]! : fields });
      }
    },
  },
];
