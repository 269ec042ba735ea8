import type { Json, JsonObject } from '../base/json.ts';
import type { Trajectory } from '../trace/model.ts';

/** Version of the records but checkpoints; a record of a newer one is reported and left alone. */
export const RECORD_VERSION = 1;
/** Version of checkpoints. 1 had no state of the training: the place in the data follows from the step. */
export const CHECKPOINT_VERSION = 2;

/** The object stores and the fields that make up their keys. */
export const KEYS = {
  datasets: ['id'],
  traces: ['id'],
  runs: ['id'],
  rows: ['owner', 'kind', 'chunk'],
  checkpoints: ['run', 'arm'],
} as const satisfies Record<string, readonly string[]>;

export type StoreName = keyof typeof KEYS;
export const STORES = Object.keys(KEYS) as StoreName[];

/** A key: one text for datasets, traces and runs; a list of parts for the others. */
export type Key = string | (string | number)[];

/** What belongs to a record but is long, kept in chunks of its own. */
export type RowKind = 'tasks' | 'trajectories' | 'metrics' | 'evaluations';

/** A set of verified tasks. `rows` counts the tasks kept beside it. */
export interface DatasetRecord {
  version: number;
  id: string;
  method: string;
  hash: string;
  /** ISO 8601. */
  createdAt: string;
  counts: Record<string, number>;
  rows: { tasks: number };
}

/** An imported trace file. */
export interface TraceRecord {
  version: number;
  id: string;
  path: string;
  /** Id of the format it was read as. */
  format: string;
  createdAt: string;
  counts: Record<string, number>;
  rows: { trajectories: number };
}

export const RUN_STATUSES = ['running', 'paused', 'stopped', 'done', 'failed'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** A run: what decides its result, where it stands, what came of it. */
export interface RunRecord {
  version: number;
  id: string;
  method: string;
  preset: string;
  config: Record<string, number | string>;
  seed: number;
  arms: string[];
  status: RunStatus;
  createdAt: string;
  updatedAt: string;
  /** As the policy reported it; `null` before it was opened. */
  device: Json;
  /** The task set; `null` before it was made. */
  datasetId: string | null;
  /** Arms that are trained and evaluated. */
  finished: string[];
  /** The arm under way and its last stored step. */
  arm: string | null;
  step: number;
  summary: Json;
  /** Why it failed; `null` where it did not. */
  error: string | null;
  rows: { metrics: number; evaluations: number };
}

/** What may be changed in a run after it was made. */
export type RunChanges = Partial<
  Pick<RunRecord, 'status' | 'device' | 'datasetId' | 'finished' | 'arm' | 'step' | 'summary' | 'error'>
>;
export type NewRun = Pick<RunRecord, 'method' | 'preset' | 'config' | 'seed' | 'arms'> &
  RunChanges & { id?: string };
export type NewDataset = Pick<DatasetRecord, 'method' | 'hash' | 'counts'> & { id?: string };
export type NewTrace = Pick<TraceRecord, 'path' | 'format' | 'counts'> & { id?: string };

/** One row of a run's log: any JSON with its arm and step, so that a resumed run can cut back to its checkpoint. */
export interface LogRow extends JsonObject {
  arm: string;
  step: number;
}

/** A stretch of rows: `chunk` k holds rows k·256 … of its owner. */
export interface ChunkRecord {
  version: number;
  owner: string;
  kind: RowKind;
  chunk: number;
  rows: Json[];
}

/** Sizes of the transformer, as the policy room defines them. */
export interface ShapeData {
  vocab: number;
  width: number;
  layers: number;
  heads: number;
  hidden: number;
  mlp?: 'gelu' | 'swiglu';
  context: number;
}

/** The state of training besides the policy, as the policy room defines it. */
export interface TrainingData {
  cursor: { epoch: number; place: number };
  streams: Record<string, number>;
  run?: {
    method: string;
    preset: string;
    config: Record<string, number | string>;
    arms: string[];
    seed: number;
    arm: string;
    taskSet: string;
  };
  vocabulary?: string;
}

/** Everything that a resumed run needs of the policy. The three arrays are equally long. */
export interface CheckpointData {
  shape: ShapeData;
  step: number;
  parameters: Float32Array;
  moment1: Float32Array;
  moment2: Float32Array;
  /** Place in the data, random streams, configuration, vocabulary: the learner's own words, checked where it goes on. */
  training?: TrainingData;
}

export interface CheckpointRecord extends CheckpointData {
  version: number;
  run: string;
  arm: string;
}

/** Something stored that this lab cannot read. It stays where it is. */
export interface Unreadable {
  store: StoreName;
  key: string;
  reason: string;
}

/** A listing: what could be read, newest first, and what could not. */
export interface Listing<T> {
  records: T[];
  unreadable: Unreadable[];
}

/** Space of this site in the browser, bytes. `persisted`: the browser promised not to evict it. */
export interface Space {
  used: number;
  left: number;
  persisted: boolean;
}

/** What an export holds. `leftOut` could not be read and is not in it. */
export interface Archive {
  blob: Blob;
  records: number;
  leftOut: Unreadable[];
}

/** What an import did. `kept` counts items whose id was taken: the stored one stays. */
export interface ImportReport {
  datasets: number;
  traces: number;
  runs: number;
  kept: number;
}

/** Brings back what was deleted, in one transaction. */
export type Restore = () => Promise<void>;

/** The lab's memory: IndexedDB, or this tab's own where the browser offers none. All methods reject with LabError. */
export interface LabStore {
  readonly kind: 'indexeddb' | 'memory';
  /** What the reader must know, as "Nothing is kept after this tab closes"; empty where all is well. May change. */
  readonly notice: string;

  saveDataset(dataset: NewDataset, tasks: readonly Json[]): Promise<DatasetRecord>;
  dataset(id: string): Promise<DatasetRecord>;
  tasks(id: string): Promise<Json[]>;
  datasets(): Promise<Listing<DatasetRecord>>;
  /** @throws LabError while a run uses it. */
  deleteDataset(id: string): Promise<Restore>;

  saveTrace(trace: NewTrace, trajectories: readonly Trajectory[]): Promise<TraceRecord>;
  trajectories(id: string): Promise<Trajectory[]>;
  traces(): Promise<Listing<TraceRecord>>;
  deleteTrace(id: string): Promise<Restore>;

  createRun(run: NewRun): Promise<RunRecord>;
  run(id: string): Promise<RunRecord>;
  runs(): Promise<Listing<RunRecord>>;
  updateRun(id: string, changes: RunChanges): Promise<RunRecord>;
  appendMetrics(run: string, rows: readonly LogRow[]): Promise<void>;
  metrics(run: string): Promise<LogRow[]>;
  appendEvaluations(run: string, rows: readonly LogRow[]): Promise<void>;
  evaluations(run: string): Promise<LogRow[]>;
  /** Drops the rows of `arm` after `step`: what a resumed run will write again. */
  rewind(run: string, arm: string, step: number): Promise<void>;
  /** Takes the place of the arm's last one and notes arm and step in the run, all in one transaction. */
  saveCheckpoint(run: string, arm: string, checkpoint: CheckpointData): Promise<void>;
  checkpoint(run: string, arm: string): Promise<CheckpointRecord | null>;
  deleteRun(id: string): Promise<Restore>;

  /** `null` where the browser does not say. */
  estimate(): Promise<Space | null>;
  /** Asks the browser not to evict this site's data; true where it promises so. */
  persist(): Promise<boolean>;
  exportAll(): Promise<Archive>;
  /** Adds what the file holds, or nothing at all. @throws LabError that names the line. */
  importAll(file: Blob): Promise<ImportReport>;
  close(): void;
}
