import type { Page } from 'playwright';
import type { RunSpec } from '../../src/methods/method.ts';
import type { Checkpoint } from '../../src/policy/engine.ts';
import { memoryBackend } from '../../src/store/backend.ts';
import { labStore } from '../../src/store/lab-store.ts';
import { STORES, type StoreName } from '../../src/store/model.ts';
import type { Task } from '../../src/task/model.ts';

/** A finished run as the lab's own store writes it, put into the page's database as if it had been trained there. */
export async function storeRun(
  page: Page,
  run: { spec: RunSpec; arm: string; checkpoint: Checkpoint; heldOut: Task[] },
): Promise<void> {
  const backend = memoryBackend('');
  let ids = 0;
  const newId = () => `stored-${ids++}`;
  const store = labStore(backend, { now: () => new Date('2026-12-01T00:00:00Z'), newId, storage: undefined });
  const { method, preset, config, arms, seed } = run.spec;
  const counts = { train: 0, heldOut: run.heldOut.length, rejected: 0 };
  const dataset = await store.saveDataset({ method, hash: 'stored', counts }, run.heldOut as never);
  const { id } = await store.createRun({
    method,
    preset,
    config,
    arms,
    seed,
    status: 'done',
    datasetId: dataset.id,
  });
  await store.saveCheckpoint(id, run.arm, run.checkpoint);
  await store.updateRun(id, { finished: [run.arm] });
  const records = await backend.run('readonly', STORES, async (tx) => {
    const all: [StoreName, unknown[]][] = [];
    for (const name of STORES) all.push([name, await tx.list(name)]);
    return all;
  });
  await page.evaluate(
    write,
    records.map(([name, list]) => ({ name, records: list.map(asJson) })),
  );
}

/** Typed arrays don't travel to a page; their bytes do. */
const asJson = (record: unknown): unknown =>
  Object.fromEntries(
    Object.entries(record as object).map(([key, value]) => [
      key,
      value instanceof Float32Array
        ? { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
        : value,
    ]),
  );

/** Runs in the page, whose database is open already. */
async function write(stores: { name: string; records: unknown[] }[]): Promise<void> {
  const reals = (base64: string) => {
    const text = atob(base64);
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  const db = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open('rollout-lab');
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  const tx = db.transaction(
    stores.map(({ name }) => name),
    'readwrite',
  );
  for (const { name, records } of stores)
    for (const record of records) {
      const fields = Object.entries(record as Record<string, unknown>).map(([key, value]) => {
        const packed = (value as { base64?: string } | null)?.base64;
        return [key, packed === undefined ? value : reals(packed)];
      });
      tx.objectStore(name).put(Object.fromEntries(fields));
    }
  await new Promise<void>((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onerror = () => reject(tx.error);
  });
  db.close();
}
