import { LabError } from '../base/errors.ts';
import { isObject, type Json } from '../base/json.ts';
import { decodeRecord, encodeRecord } from './archive-record.ts';
import type { Backend, Tx } from './backend.ts';
import { checkRecord, keyOf, unreadable } from './check.ts';
import { CHUNK_ROWS } from './chunks.ts';
import { readLines } from './lines.ts';
import {
  type Archive,
  type ImportReport,
  type RowKind,
  STORES,
  type StoreName,
  type Unreadable,
} from './model.ts';

/** Name and version in the first line of an export. */
const FORMAT = 'rollout-lab';
const ARCHIVE_VERSION = 1;

type Owner = 'datasets' | 'traces' | 'runs';
const OWNERS: readonly Owner[] = ['datasets', 'traces', 'runs'];

/**
 * Everything stored as one file of JSON lines: a header with format and version, one line a record (the arrays of a
 * checkpoint as base64 of little-endian 32-bit floats), and a last line that counts the records. Each dataset, trace and
 * run is read in one transaction with all that hangs on it, so runs may go on meanwhile.
 */
export async function exportAll(backend: Backend, createdAt: string): Promise<Archive> {
  const parts: string[] = [`${JSON.stringify({ format: FORMAT, version: ARCHIVE_VERSION, createdAt })}\n`];
  const leftOut: Unreadable[] = [];
  let records = 0;
  for (const store of OWNERS) {
    const ids = (await backend.run('readonly', [store], (tx) => tx.list(store))).map((record) =>
      keyOf(store, record as object),
    );
    for (const id of ids) {
      const unit = await backend.run('readonly', STORES, (tx) => readUnit(tx, store, String(id)));
      const problems = problemsOf(unit);
      leftOut.push(...problems);
      if (problems.length > 0) continue;
      for (const [where, record] of unit) parts.push(`${encodeRecord(where, record)}\n`);
      records += unit.length;
    }
  }
  parts.push(`${JSON.stringify({ end: true, records })}\n`);
  return { blob: new Blob(parts, { type: 'application/jsonl' }), records, leftOut };
}

/**
 * Reads an export. The whole file is checked before anything is stored, then all of it is stored in one transaction: a
 * bad file changes nothing. What has an id that is taken is left out, since the stored one stays.
 * @throws LabError that names the line and what is wrong with it.
 */
export async function importAll(backend: Backend, file: Blob): Promise<ImportReport> {
  const entries = await readArchive(file);
  checkWhole(entries);
  return backend.run('readwrite', STORES, async (tx) => {
    const report: ImportReport = { datasets: 0, traces: 0, runs: 0, kept: 0 };
    const taken = new Set<string>();
    for (const { store, record } of entries) {
      if (!isOwner(store)) continue;
      const id = keyOf(store, record);
      if ((await tx.get(store, id)) === undefined) report[store]++;
      else {
        taken.add(`${store} ${id}`);
        report.kept++;
      }
    }
    for (const { store, record } of entries)
      if (!taken.has(ownerOf(store, record))) await tx.put(store, record);
    return report;
  });
}

interface Entry {
  line: number;
  store: StoreName;
  record: object;
}

async function readUnit(tx: Tx, store: Owner, id: string): Promise<[StoreName, object][]> {
  const record = await tx.get(store, id);
  if (record === undefined) return []; // Deleted since the ids were read.
  const rows = (await tx.list('rows', [id])).filter(
    (row) => ownerOf('rows', row as object) === `${store} ${id}`,
  );
  const checkpoints = store === 'runs' ? await tx.list('checkpoints', [id]) : [];
  return [
    [store, record as object],
    ...rows.map((row): [StoreName, object] => ['rows', row as object]),
    ...checkpoints.map((checkpoint): [StoreName, object] => ['checkpoints', checkpoint as object]),
  ];
}

/** What would make the import of this unit fail. */
function problemsOf(unit: readonly [StoreName, object][]): Unreadable[] {
  const bad = unit.flatMap(([store, raw]) => {
    const checked = checkRecord(store, raw);
    return checked.ok ? [] : [unreadable(store, raw, checked.reason)];
  });
  if (bad.length > 0) return bad;
  try {
    checkWhole(unit.map(([store, record]) => ({ line: 0, store, record })));
    return [];
  } catch {
    return unit
      .slice(0, 1)
      .map(([store, record]) => unreadable(store, record, 'some of its rows are missing'));
  }
}

async function readArchive(file: Blob): Promise<Entry[]> {
  const entries: Entry[] = [];
  let end: Json | undefined;
  let line = 0;
  for await (const text of readLines(file)) {
    line++;
    const value = parse(text, line);
    if (line === 1) checkHeader(value);
    else if (end !== undefined) throw bad(line, 'something follows the last line');
    else if (value.end === true) end = value.records;
    else entries.push(readEntry(value, line));
  }
  if (line === 0) throw bad(1, 'the file is empty');
  if (end === undefined) throw bad(line, 'the last line is missing: the file was cut off');
  if (end !== entries.length)
    throw bad(line, `the file should hold ${JSON.stringify(end)} records and holds ${entries.length}`);
  return entries;
}

function readEntry(value: { [key: string]: Json }, line: number): Entry {
  const store = STORES.find((name) => name === value.store);
  if (!store) throw bad(line, `there is no store ${JSON.stringify(value.store)?.slice(0, 60)}`);
  let record: unknown;
  try {
    record = decodeRecord(store, value.record);
  } catch (error) {
    throw bad(line, error instanceof LabError ? error.message : String(error));
  }
  const checked = checkRecord(store, record);
  if (!checked.ok) throw bad(line, checked.reason);
  return { line, store, record: checked.record };
}

/** Each key once; each chunk and checkpoint with its owner; each owner with as many rows as it says. */
function checkWhole(entries: readonly Entry[]): void {
  const keys = new Set<string>();
  const rows = new Map<string, number>();
  const owners = new Set(
    entries
      .filter(({ store }) => isOwner(store))
      .map(({ store, record }) => `${store} ${keyOf(store, record)}`),
  );
  for (const { line, store, record } of entries) {
    const key = JSON.stringify([store, keyOf(store, record)]);
    if (keys.has(key)) throw bad(line, 'this record stands in the file twice');
    keys.add(key);
    if (!owners.has(ownerOf(store, record)))
      throw bad(line, `what it belongs to (${ownerOf(store, record)}) is not in the file`);
    if (store !== 'rows') continue;
    const {
      owner,
      kind,
      chunk,
      rows: held,
    } = record as { owner: string; kind: RowKind; chunk: number; rows: Json[] };
    const name = `${owner} ${kind}`;
    const before = rows.get(name) ?? 0;
    if (chunk * CHUNK_ROWS !== before || held.length > CHUNK_ROWS)
      throw bad(line, `the ${kind} before it are missing`);
    rows.set(name, before + held.length);
  }
  for (const { line, store, record } of entries) {
    if (!isOwner(store)) continue;
    for (const [kind, count] of Object.entries((record as { rows: Record<string, number> }).rows)) {
      const found = rows.get(`${keyOf(store, record)} ${kind}`) ?? 0;
      if (found !== count) throw bad(line, `it should have ${count} ${kind}; the file holds ${found}`);
    }
  }
}

function checkHeader(value: { [key: string]: Json }): void {
  if (value.format !== FORMAT) throw bad(1, 'this is no export of Rollout Lab');
  if (value.version === ARCHIVE_VERSION) return;
  const newer = typeof value.version === 'number' && value.version > ARCHIVE_VERSION;
  if (!newer) throw bad(1, 'the version of the export is missing or unknown');
  throw new LabError(
    `The export was made by a newer lab (version ${value.version}; this one reads ${ARCHIVE_VERSION})`,
    {
      where: 'line 1',
      remedy: 'Reload the page to get the newest lab. Nothing was changed.',
    },
  );
}

function parse(text: string, line: number): { [key: string]: Json } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad(line, 'it is not JSON');
  }
  if (!isObject(value)) throw bad(line, 'it is no JSON object');
  return value;
}

function isOwner(store: StoreName): store is Owner {
  return OWNERS.some((owner) => owner === store);
}

/** What a record belongs to, as "runs 3f…": itself, where nothing is above it. */
function ownerOf(store: StoreName, record: object): string {
  if (store === 'checkpoints') return `runs ${(record as { run: string }).run}`;
  if (store !== 'rows') return `${store} ${keyOf(store, record)}`;
  const { owner, kind } = record as { owner: string; kind: RowKind };
  const above: Record<RowKind, Owner> = {
    tasks: 'datasets',
    trajectories: 'traces',
    metrics: 'runs',
    evaluations: 'runs',
  };
  return `${above[kind]} ${owner}`;
}

function bad(line: number, what: string): LabError {
  return new LabError(`The file cannot be imported: ${what}`, {
    where: `line ${line}`,
    remedy: 'Nothing was changed. Export again, or use another copy of the file.',
  });
}
