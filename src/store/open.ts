import { LabError } from '../base/errors.ts';
import { memoryBackend } from './backend.ts';
import { indexedBackend } from './indexed.ts';
import { labStore } from './lab-store.ts';
import type { LabStore } from './model.ts';
import { UPGRADES, type UpgradeStep } from './schema.ts';

/** How to open the lab's storage; every field has a default. */
export interface StoreOptions {
  /** Name of the database: `rollout-lab`. */
  name?: string;
  /** The database's history: the lab's own steps. */
  steps?: readonly UpgradeStep[];
  /** Milliseconds after which a database that does not open is given up: 5000. */
  patience?: number;
  /** Hears of what `notice` says whenever it changes after opening. */
  onNotice?: (notice: string) => void;
  now?: () => Date;
  newId?: () => string;
  storage?: StorageManager | undefined;
}

const FORGETFUL = 'Runs are kept in this tab only and are gone when it closes; export what you want to keep.';

/**
 * Opens the lab's storage. Never rejects: where IndexedDB is missing, blocked, held by another tab or belongs to a newer
 * lab, the store keeps everything in this tab's memory and its `notice` says why.
 */
export async function openStore(options: StoreOptions = {}): Promise<LabStore> {
  const context = {
    now: options.now ?? (() => new Date()),
    newId: options.newId ?? randomId,
    storage: 'storage' in options ? options.storage : globalThis.navigator?.storage,
  };
  try {
    if (!hasIndexedDb()) throw new LabError('This browser offers no storage');
    const backend = await indexedBackend({
      name: options.name ?? 'rollout-lab',
      steps: options.steps ?? UPGRADES,
      patience: options.patience ?? 5000,
      onNotice: options.onNotice ?? (() => {}),
    });
    return labStore(backend, context);
  } catch (error) {
    const why = error instanceof LabError ? error : new LabError(String(error));
    const remedy = why.remedy ? ` ${why.remedy}` : '';
    const notice = `${why.message}.${remedy} ${FORGETFUL}`;
    return labStore(memoryBackend(notice), context);
  }
}

/** Some browsers throw at the mere mention of `indexedDB` where site data is blocked. */
function hasIndexedDb(): boolean {
  try {
    return typeof globalThis.indexedDB === 'object' && globalThis.indexedDB !== null;
  } catch {
    return false;
  }
}

/** 96 random bits in hexadecimal. A local name: nothing depends on it, and no link points at it. */
function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
