import { LabError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import type { Tx } from './backend.ts';
import { checkRecord } from './check.ts';
import { type ChunkRecord, RECORD_VERSION, type RowKind } from './model.ts';

/** Rows in a chunk: appending rewrites at most so many, however long the history is. */
export const CHUNK_ROWS = 256;

/** Adds rows behind the first `count` ones. Reads and rewrites only the last chunk. */
export async function appendRows(
  tx: Tx,
  owner: string,
  kind: RowKind,
  count: number,
  rows: readonly Json[],
): Promise<void> {
  let at = count;
  for (let taken = 0; taken < rows.length; ) {
    const chunk = Math.floor(at / CHUNK_ROWS);
    const held = at % CHUNK_ROWS;
    const before = held === 0 ? [] : readChunk(await tx.get('rows', [owner, kind, chunk]), owner, kind).rows;
    if (before.length !== held) throw lost(owner, kind);
    const more = rows.slice(taken, taken + CHUNK_ROWS - held);
    const record: ChunkRecord = { version: RECORD_VERSION, owner, kind, chunk, rows: [...before, ...more] };
    await tx.put('rows', record);
    taken += more.length;
    at += more.length;
  }
}

/** All rows, in order. @throws LabError where a chunk is missing or damaged: `count` says how many there must be. */
export async function readRows(tx: Tx, owner: string, kind: RowKind, count: number): Promise<Json[]> {
  const rows: Json[] = [];
  for (const raw of await tx.list('rows', [owner, kind])) {
    const chunk = readChunk(raw, owner, kind);
    if (chunk.chunk * CHUNK_ROWS !== rows.length) throw lost(owner, kind);
    for (const row of chunk.rows) rows.push(row);
  }
  if (rows.length !== count) throw lost(owner, kind);
  return rows;
}

/** Puts `rows` in the place of all that was there. */
export async function replaceRows(
  tx: Tx,
  owner: string,
  kind: RowKind,
  rows: readonly Json[],
): Promise<void> {
  await removeRows(tx, owner, kind);
  await appendRows(tx, owner, kind, 0, rows);
}

/** Removes all chunks of an owner, of one kind; returns them as they were stored. */
export async function removeRows(tx: Tx, owner: string, kind: RowKind): Promise<object[]> {
  const chunks = (await tx.list('rows', [owner, kind])) as ChunkRecord[];
  for (const { chunk } of chunks) await tx.delete('rows', [owner, kind, chunk]);
  return chunks;
}

function readChunk(raw: unknown, owner: string, kind: RowKind): ChunkRecord {
  if (raw === undefined) throw lost(owner, kind);
  const checked = checkRecord('rows', raw);
  if (checked.ok) return checked.record;
  throw new LabError(`Some ${kind} of ${owner} cannot be read: ${checked.reason}`, {
    where: 'storage',
    remedy: 'They were left in place. Import an earlier export of it, or run it again.',
  });
}

function lost(owner: string, kind: RowKind): LabError {
  return new LabError(`Some ${kind} of ${owner} are missing from the browser's storage`, {
    where: 'storage',
    remedy: 'The rest was left in place. Import an earlier export of it, or run it again.',
  });
}
