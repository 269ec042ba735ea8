import * as v from 'valibot';
import { isObject } from '../base/json.ts';
import {
  CHECKPOINT_VERSION,
  type CheckpointRecord,
  type ChunkRecord,
  type DatasetRecord,
  KEYS,
  type Key,
  RECORD_VERSION,
  RUN_STATUSES,
  type RunRecord,
  type StoreName,
  type TraceRecord,
  type Unreadable,
} from './model.ts';

/** The record of each store. */
export interface Records {
  datasets: DatasetRecord;
  traces: TraceRecord;
  runs: RunRecord;
  rows: ChunkRecord;
  checkpoints: CheckpointRecord;
}

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));
const text = v.pipe(v.string(), v.minLength(1));
const date = v.pipe(v.string(), v.isoTimestamp());
const counts = v.record(v.string(), v.number());
/** Plain data by where it comes from: structured clone or JSON text. Its shape is its owner's business. */
const data = v.custom<ChunkRecord['rows'][number]>(
  (value) => value !== undefined && typeof value !== 'function',
);
const array = v.instance(Float32Array);
const version = v.literal(RECORD_VERSION);

const shape = v.looseObject({
  vocab: positive,
  width: positive,
  layers: positive,
  heads: positive,
  hidden: positive,
  mlp: v.exactOptional(v.picklist(['gelu', 'swiglu'])),
  context: positive,
});

const training = v.looseObject({
  cursor: v.looseObject({ epoch: whole, place: whole }),
  streams: v.record(v.string(), whole),
  run: v.exactOptional(
    v.looseObject({
      method: text,
      preset: text,
      config: v.record(v.string(), v.union([v.pipe(v.number(), v.finite()), v.string()])),
      arms: v.array(text),
      seed: whole,
      arm: text,
      taskSet: text,
    }),
  ),
  vocabulary: v.exactOptional(v.string()),
});

const SCHEMAS = {
  datasets: v.looseObject({
    version,
    id: text,
    method: text,
    hash: text,
    createdAt: date,
    counts,
    rows: v.looseObject({ tasks: whole }),
  }),
  traces: v.looseObject({
    version,
    id: text,
    path: v.string(),
    format: text,
    createdAt: date,
    counts,
    rows: v.looseObject({ trajectories: whole }),
  }),
  runs: v.looseObject({
    version,
    id: text,
    method: text,
    preset: text,
    config: v.record(v.string(), v.union([v.pipe(v.number(), v.finite()), v.string()])),
    seed: whole,
    arms: v.array(text),
    status: v.picklist(RUN_STATUSES),
    createdAt: date,
    updatedAt: date,
    device: data,
    datasetId: v.nullable(text),
    finished: v.array(text),
    arm: v.nullable(text),
    step: whole,
    summary: data,
    error: v.nullable(v.string()),
    rows: v.looseObject({ metrics: whole, evaluations: whole }),
  }),
  rows: v.looseObject({
    version,
    owner: text,
    kind: v.picklist(['tasks', 'trajectories', 'metrics', 'evaluations']),
    chunk: whole,
    rows: v.array(data),
  }),
  checkpoints: v.pipe(
    v.looseObject({
      version: v.literal(CHECKPOINT_VERSION),
      run: text,
      arm: text,
      shape,
      step: whole,
      parameters: array,
      moment1: array,
      moment2: array,
      training: v.exactOptional(training),
    }),
    v.check(
      ({ parameters, moment1, moment2 }) =>
        parameters.length === moment1.length && parameters.length === moment2.length,
      'parameters and moments differ in length',
    ),
  ),
} satisfies { [S in StoreName]: v.GenericSchema<unknown, Records[S]> };

/** The link between a store's name and its schema, which a union of schemas does not keep. */
function schemaOf<S extends StoreName>(store: S): v.GenericSchema<unknown, Records[S]> {
  const schemas: { [N in StoreName]: v.GenericSchema<unknown, Records[N]> } = SCHEMAS;
  return schemas[store];
}

export type Checked<S extends StoreName> = { ok: true; record: Records[S] } | { ok: false; reason: string };

/** The version of each store's records that this lab writes. */
const versionOf = (store: StoreName) => (store === 'checkpoints' ? CHECKPOINT_VERSION : RECORD_VERSION);

/** A record of an older version as one of today. Version 1 of a checkpoint is version 2 without a state of the training. */
function migrate(store: StoreName, raw: Record<string, unknown>): Record<string, unknown> {
  return store === 'checkpoints' && raw.version === 1 ? { ...raw, version: CHECKPOINT_VERSION } : raw;
}

/**
 * Holds something stored or imported, of this version or an older one, against the schema of its store. Never throws,
 * never changes what it is given.
 */
export function checkRecord<S extends StoreName>(store: S, raw: unknown): Checked<S> {
  if (!isObject(raw)) return { ok: false, reason: 'it is no record' };
  if (typeof raw.version === 'number' && raw.version > versionOf(store)) {
    return {
      ok: false,
      reason: `it was written by a newer lab (record version ${raw.version}); reload the page`,
    };
  }
  const found = v.safeParse(schemaOf(store), migrate(store, raw));
  if (found.success) return { ok: true, record: found.output };
  const issue = found.issues[0];
  const path = v.getDotPath(issue);
  return { ok: false, reason: `damaged: ${path ? `${path}: ` : ''}${issue.message}` };
}

/** The key under which a record stands in its store. */
export function keyOf(store: StoreName, record: object): Key {
  const parts = KEYS[store].map((field) => (record as Record<string, string | number>)[field]!);
  return parts.length === 1 ? String(parts[0]) : parts;
}

/** What to say of something stored that cannot be read. */
export function unreadable(store: StoreName, raw: unknown, reason: string): Unreadable {
  const key = typeof raw === 'object' && raw !== null ? [keyOf(store, raw)].flat().join(' / ') : '?';
  return { store, key, reason };
}
