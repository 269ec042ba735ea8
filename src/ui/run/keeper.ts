import type { Json } from '../../base/json.ts';
import type { RunResume } from '../../lab/run.ts';
import type { RunEvent } from '../../lab/services.ts';
import type { LearnResume, PresetId, RunSpec, TaskSplit } from '../../methods/method.ts';
import type { LabStore, LogRow, RunRecord } from '../../store/model.ts';
import type { Task, ToolGraph } from '../../task/model.ts';
import type { Evaluation } from './ledger.ts';

/** Metric rows that are gathered before they are written; a checkpoint writes them at once. */
const GATHERED = 200;

type StoredEvent = Extract<RunEvent, { type: 'steps' | 'evaluation' | 'graph' | 'recovery' }>;

/** Everything kept of a run, as events in the order in which they happened, and where it can go on. */
export interface StoredRun {
  record: RunRecord;
  spec: RunSpec;
  events: RunEvent[];
  resume: RunResume | null;
  /** The checkpoint to go on from, whether or not the tasks are here. */
  from: LearnResume;
}

/** Rows are JSON: what is kept of an event. */
const asRow = (event: StoredEvent, arm: string, step: number): LogRow =>
  ({ arm, step, event: event as unknown as Json }) satisfies LogRow;
const asEvent = (row: LogRow) => row.event as unknown as StoredEvent;

export function specOf(record: RunRecord): RunSpec {
  const { method, preset, config, arms, seed } = record;
  return { method, preset: preset as PresetId, config, arms, seed };
}

/** Writes one run to the store as it happens. */
export class Keeper {
  readonly id: string;
  readonly #store: LabStore;
  #rows: LogRow[] = [];
  #finished: string[];
  #rejected = 0;

  private constructor(store: LabStore, id: string, finished: string[], rejected: number) {
    this.#store = store;
    this.id = id;
    this.#finished = finished;
    this.#rejected = rejected;
  }

  static async begin(store: LabStore, { method, preset, config, arms, seed }: RunSpec): Promise<Keeper> {
    const record = await store.createRun({ method, preset, config, arms, seed, status: 'running' });
    return new Keeper(store, record.id, [], 0);
  }

  /** Goes on writing a run that was interrupted: what came after its last checkpoint is dropped. */
  static async again(store: LabStore, { record, resume }: StoredRun): Promise<Keeper> {
    if (record.arm !== null) await store.rewind(record.id, record.arm, record.step);
    await store.updateRun(record.id, { status: 'running', error: null });
    return new Keeper(store, record.id, [...record.finished], resume?.rejected ?? 0);
  }

  /** Keeps what of an event is worth keeping. */
  async add(event: RunEvent): Promise<void> {
    switch (event.type) {
      case 'graph':
        return this.#store.appendEvaluations(this.id, [asRow(event, '', 0)]);
      case 'verdicts':
        this.#rejected += event.verdicts.filter((verdict) => !verdict.passed).length;
        return;
      case 'dataset':
        return this.#keepTasks(event.tasks, event.hash);
      case 'device':
        await this.#store.updateRun(this.id, { device: event as unknown as Json });
        return;
      case 'steps':
        this.#rows.push(asRow(event, event.arm, event.stats.at(-1)?.step ?? 0));
        if (this.#rows.length >= GATHERED) await this.#flush();
        return;
      case 'evaluation':
        await this.#flush();
        return this.#store.appendEvaluations(this.id, [asRow(event, event.arm, event.step)]);
      case 'recovery':
        return this.#store.appendEvaluations(this.id, [asRow(event, event.arm, event.step)]);
      case 'checkpoint':
        await this.#flush();
        return this.#store.saveCheckpoint(this.id, event.arm, event.checkpoint);
      case 'arm':
        this.#finished = [...new Set([...this.#finished, event.arm])];
        await this.#store.updateRun(this.id, { finished: this.#finished });
        return;
      case 'done':
        await this.#flush();
        await this.#store.updateRun(this.id, { status: 'done', summary: event.summary as unknown as Json });
        return;
      default:
        return;
    }
  }

  async status(
    status: 'running' | 'paused' | 'stopped' | 'failed',
    error: string | null = null,
  ): Promise<void> {
    await this.#flush();
    await this.#store.updateRun(this.id, { status, error });
  }

  async #keepTasks({ train, heldOut }: TaskSplit, hash: string): Promise<void> {
    const { datasetId } = await this.#store.run(this.id);
    if (datasetId !== null) return;
    const counts = { train: train.length, heldOut: heldOut.length, rejected: this.#rejected };
    const { method } = await this.#store.run(this.id);
    const dataset = await this.#store.saveDataset({ method, hash, counts }, [
      ...train,
      ...heldOut,
    ] as unknown as Json[]);
    await this.#store.updateRun(this.id, { datasetId: dataset.id });
  }

  async #flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = this.#rows;
    this.#rows = [];
    await this.#store.appendMetrics(this.id, rows);
  }
}

/** Reads a run back. Its events are those that were kept; `resume` is `null` where its tasks were not made yet. */
export async function readRun(store: LabStore, id: string): Promise<StoredRun> {
  const record = await store.run(id);
  const [metrics, evaluations] = await Promise.all([store.metrics(id), store.evaluations(id)]);
  const rows = evaluations.map(asEvent);
  const graph = rows.find((event): event is { type: 'graph'; graph: ToolGraph } => event.type === 'graph');
  const judged = rows.filter((event) => event.type === 'evaluation');
  const tasks = record.datasetId === null ? null : await readTasks(store, record.datasetId);

  const events: RunEvent[] = [];
  if (graph) events.push(graph);
  if (tasks) events.push({ type: 'dataset', tasks: tasks.split, hash: tasks.hash });
  if (record.device !== null) events.push(record.device as unknown as RunEvent);
  const recoveries = rows.filter((event) => event.type === 'recovery');
  events.push(...metrics.map(asEvent), ...judged, ...recoveries);
  for (const arm of record.finished) events.push({ type: 'arm', arm, step: record.step });
  if (record.summary !== null) events.push({ type: 'done', summary: record.summary as never });
  const from = await learnFrom(store, record);
  return {
    record,
    spec: specOf(record),
    events,
    from,
    resume: tasks && resumeOf(record, tasks, judged, from),
  };
}

async function readTasks(
  store: LabStore,
  id: string,
): Promise<{ split: TaskSplit; hash: string; rejected: number }> {
  const [{ counts, hash }, rows] = await Promise.all([store.dataset(id), store.tasks(id)]);
  const tasks = rows as unknown as Task[];
  const train = counts.train ?? 0;
  return {
    split: { train: tasks.slice(0, train), heldOut: tasks.slice(train) },
    hash,
    rejected: counts.rejected ?? 0,
  };
}

async function learnFrom(store: LabStore, { id, finished, arm }: RunRecord): Promise<LearnResume> {
  const checkpoint = arm === null || finished.includes(arm) ? null : await store.checkpoint(id, arm);
  return checkpoint && arm !== null ? { finished, arm, checkpoint } : { finished };
}

function resumeOf(
  { finished }: RunRecord,
  { split, rejected }: { split: TaskSplit; rejected: number },
  judged: readonly Pick<Evaluation, 'arm' | 'success' | 'metrics'>[],
  learn: LearnResume,
): RunResume {
  const arms: RunResume['arms'] = {};
  for (const { arm, success, metrics } of judged) arms[arm] = { success: success.mean, ...metrics };
  return {
    tasks: split,
    rejected,
    arms: Object.fromEntries(Object.entries(arms).filter(([id]) => finished.includes(id))),
    learn,
  };
}

/** Whether an event came after the checkpoint that a run resumes from: the resumed run will tell it again. */
export function after(event: RunEvent, { record }: StoredRun): boolean {
  if (record.arm === null) return false;
  if (event.type === 'evaluation') return event.arm === record.arm && event.step > record.step;
  if (event.type === 'steps') return event.arm === record.arm && (event.stats[0]?.step ?? 0) > record.step;
  return false;
}
