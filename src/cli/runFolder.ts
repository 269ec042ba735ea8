import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LabError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { RunResume } from '../lab/run.ts';
import type { RunSummary } from '../lab/services.ts';
import type { LearnResume, TaskSplit } from '../methods/method.ts';
import type { DeviceInfo } from '../policy/engine.ts';
import { type ExportOptions, exportOnnx } from '../policy/onnx/export.ts';
import { readSafetensors, writeSafetensors } from '../policy/safetensors.ts';
import type { TrainingCheckpoint } from '../policy/training.ts';
import type { Task } from '../task/model.ts';
import { taskSetHash } from '../task/synthesis/dataset.ts';
import { flush, replaceFile } from './atomic.ts';

/** What a folder remembers of an unfinished run. */
interface State {
  finished: string[];
  arms: RunSummary['arms'];
  rejected: number;
  hash: string;
  /** The arm under way and its checkpoint file, where there is one. */
  current: { arm: string; step: number; file: string } | null;
}

/** One row of metrics.jsonl. */
export type MetricRow = { arm: string; step: number } & Record<string, unknown>;

/** What metrics.json holds of a finished seed. */
export interface SeedResult {
  seed: number;
  summary: RunSummary;
  device: DeviceInfo | null;
}

/**
 * The folder of one seed's run. Every file is written whole beside its place, forced to the disk and then swapped in, and
 * `state.json` names a checkpoint only once it is there: whenever the process ends, the folder holds a run to go on with.
 */
export class RunFolder {
  readonly path: string;
  #state: State = { finished: [], arms: {}, rejected: 0, hash: '', current: null };

  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true });
  }

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string | Uint8Array): void {
    replaceFile(this.path, name, content);
  }

  metric(row: MetricRow): void {
    appendFileSync(this.file('metrics.jsonl'), `${JSON.stringify(row)}\n`);
  }

  /** The task set, one task a line with its split. */
  dataset(tasks: TaskSplit, hash: string, rejected: number, sequence: (task: Task) => object): void {
    if (this.#state.hash === hash) return;
    const row = (split: string) => (task: Task) => JSON.stringify({ split, ...sequence(task), task });
    this.write(
      'dataset.jsonl',
      `${[...tasks.train.map(row('train')), ...tasks.heldOut.map(row('heldOut'))].join('\n')}\n`,
    );
    this.#state = { ...this.#state, hash, rejected };
    this.#saveState();
  }

  /** Keeps the newest checkpoint of the arm under way, then lets the older one go. */
  checkpoint(arm: string, checkpoint: TrainingCheckpoint): void {
    const file = `checkpoint-${arm}-${checkpoint.step}.safetensors`;
    const old = this.#state.current?.file;
    // The rows up to this step must outlive what resumes from it.
    flush(this.file('metrics.jsonl'));
    this.write(file, writeSafetensors(checkpoint, { arm }));
    this.#state = { ...this.#state, current: { arm, step: checkpoint.step, file } };
    this.#saveState();
    if (old && old !== file) rmSync(this.file(old), { force: true });
  }

  evaluated(arm: string, figures: Record<string, number>): void {
    this.#state = { ...this.#state, arms: { ...this.#state.arms, [arm]: figures } };
    this.#saveState();
  }

  /** The arm is done: its last checkpoint becomes the run's policy. @param onnx what its ONNX file holds besides. */
  finishArm(arm: string, onnx: ExportOptions = {}): void {
    const { current } = this.#state;
    if (current?.arm === arm) {
      const checkpoint = readSafetensors(readFileSync(this.file(current.file)));
      this.write('policy.safetensors', writeSafetensors(checkpoint, { arm }));
      this.write('policy.onnx', exportOnnx(checkpoint, onnx));
    }
    this.#state = { ...this.#state, finished: [...this.#state.finished, arm], current: null };
    this.#saveState();
    if (current?.arm === arm) rmSync(this.file(current.file), { force: true });
  }

  finish(result: SeedResult): void {
    this.write('metrics.json', `${JSON.stringify(result, null, 2)}\n`);
    rmSync(this.file('state.json'), { force: true });
  }

  /** The result, where this run is finished. */
  result(): SeedResult | null {
    if (!existsSync(this.file('metrics.json'))) return null;
    return reading(this.file('metrics.json'), (path) => JSON.parse(readFileSync(path, 'utf8')) as SeedResult);
  }

  /** Where the run stood, or undefined where it had not made its tasks yet. @throws LabError on damaged files. */
  resume(): RunResume | undefined {
    if (!existsSync(this.file('state.json')) || !existsSync(this.file('dataset.jsonl'))) return undefined;
    this.#state = reading(this.file('state.json'), readState);
    this.#sweep();
    const { finished, arms, rejected, current, hash } = this.#state;
    const tasks = reading(this.file('dataset.jsonl'), (path) => readDataset(path, hash));
    const learn: LearnResume = { finished };
    if (current) {
      learn.arm = current.arm;
      learn.checkpoint = reading(this.file(current.file), (path) => readSafetensors(readFileSync(path)));
    }
    reading(this.file('metrics.jsonl'), () => this.#cutMetrics(finished, current));
    return { tasks, arms, rejected, learn };
  }

  /** Removes what a process that was ended half way left behind: drafts, and checkpoints that the state does not name. */
  #sweep(): void {
    const named = this.#state.current?.file;
    for (const name of readdirSync(this.path))
      if (/^\..*\.tmp$/.test(name) || (/^checkpoint-.*\.safetensors$/.test(name) && name !== named))
        rmSync(this.file(name), { force: true });
  }

  /** Drops rows that the resumed run will measure again, and a last one that was cut off. */
  #cutMetrics(finished: string[], current: State['current']): void {
    if (!existsSync(this.file('metrics.jsonl'))) return;
    const text = readFileSync(this.file('metrics.jsonl'), 'utf8');
    const kept = text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => {
        if (!line) return false;
        const row = JSON.parse(line) as MetricRow;
        if (finished.includes(row.arm)) return true;
        // The evaluation of the checkpoint's own step is made again.
        return (
          row.arm === current?.arm &&
          (row.step < current.step || (row.step === current.step && !('success' in row)))
        );
      });
    this.write('metrics.jsonl', kept.map((line) => `${line}\n`).join(''));
  }

  #saveState(): void {
    this.write('state.json', JSON.stringify(this.#state));
  }
}

/** Reads a file of a run that is to go on. @throws LabError that names the file, what is wrong with it, and the way out. */
function reading<T>(path: string, read: (path: string) => T): T {
  try {
    return read(path);
  } catch (error) {
    throw new LabError(`the run can't go on: ${error instanceof Error ? error.message : String(error)}`, {
      where: path,
      remedy: 'this file is damaged or missing; run it anew with another --out',
      cause: error,
    });
  }
}

function readState(path: string): State {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (isObject(value) && Array.isArray(value.finished) && isObject(value.arms))
    return value as unknown as State;
  throw new Error('it does not hold the state of a run');
}

/** The tasks of a run, which must be those that it was begun with. */
function readDataset(path: string, hash: string): TaskSplit {
  const split: TaskSplit = { train: [], heldOut: [] };
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    const row = JSON.parse(line) as { split?: string; task?: Task };
    if ((row.split !== 'train' && row.split !== 'heldOut') || !row.task)
      throw new Error('a row has no split or no task');
    split[row.split].push(row.task);
  }
  const found = taskSetHash([...split.train, ...split.heldOut]);
  if (found !== hash) throw new Error(`the task set is ${found}, and the run was begun with ${hash}`);
  return split;
}
