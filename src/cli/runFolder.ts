import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { LabError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { RunResume } from '../lab/run.ts';
import type { RunSummary } from '../lab/services.ts';
import type { TaskSplit } from '../methods/method.ts';
import type { Checkpoint, DeviceInfo } from '../policy/engine.ts';
import { exportOnnx } from '../policy/onnx/export.ts';
import { readSafetensors, writeSafetensors } from '../policy/safetensors.ts';
import type { Task } from '../task/model.ts';

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

/** The folder of one seed's run. Every file is written whole beside its place and then swapped in. */
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
    const draft = this.file(`.${name}.tmp`);
    writeFileSync(draft, content);
    renameSync(draft, this.file(name));
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
  checkpoint(arm: string, checkpoint: Checkpoint): void {
    const file = `checkpoint-${arm}-${checkpoint.step}.safetensors`;
    const old = this.#state.current?.file;
    this.write(file, writeSafetensors(checkpoint, { arm }));
    this.#state = { ...this.#state, current: { arm, step: checkpoint.step, file } };
    this.#saveState();
    if (old && old !== file) rmSync(this.file(old), { force: true });
  }

  evaluated(arm: string, figures: Record<string, number>): void {
    this.#state = { ...this.#state, arms: { ...this.#state.arms, [arm]: figures } };
    this.#saveState();
  }

  /** The arm is done: its last checkpoint becomes the run's policy. */
  finishArm(arm: string): void {
    const { current } = this.#state;
    if (current?.arm === arm) {
      const checkpoint = readSafetensors(readFileSync(this.file(current.file)));
      this.write('policy.safetensors', writeSafetensors(checkpoint, { arm }));
      this.write('policy.onnx', exportOnnx(checkpoint));
      rmSync(this.file(current.file), { force: true });
    }
    this.#state = { ...this.#state, finished: [...this.#state.finished, arm], current: null };
    this.#saveState();
  }

  finish(result: SeedResult): void {
    this.write('metrics.json', `${JSON.stringify(result, null, 2)}\n`);
    rmSync(this.file('state.json'), { force: true });
  }

  /** The result, where this run is finished. */
  result(): SeedResult | null {
    if (!existsSync(this.file('metrics.json'))) return null;
    return JSON.parse(readFileSync(this.file('metrics.json'), 'utf8')) as SeedResult;
  }

  /** Where the run stood, or undefined where it had not made its tasks yet. @throws LabError on damaged files. */
  resume(): RunResume | undefined {
    if (!existsSync(this.file('state.json')) || !existsSync(this.file('dataset.jsonl'))) return undefined;
    this.#state = readState(this.file('state.json'));
    const { finished, arms, rejected, current } = this.#state;
    const resume: RunResume = { tasks: readDataset(this.file('dataset.jsonl')), arms, rejected };
    this.#cutMetrics(finished, current);
    if (current)
      return {
        ...resume,
        learn: {
          finished,
          arm: current.arm,
          checkpoint: readSafetensors(readFileSync(this.file(current.file))),
        },
      };
    return { ...resume, learn: { finished } };
  }

  /** Drops rows that the resumed run will measure again. */
  #cutMetrics(finished: string[], current: State['current']): void {
    if (!existsSync(this.file('metrics.jsonl'))) return;
    const kept = readFileSync(this.file('metrics.jsonl'), 'utf8')
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

function readState(path: string): State {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (isObject(value) && Array.isArray(value.finished) && isObject(value.arms))
    return value as unknown as State;
  throw new LabError('this is not the state of a run', {
    where: path,
    remedy: 'start the run anew with --out',
  });
}

function readDataset(path: string): TaskSplit {
  const split: TaskSplit = { train: [], heldOut: [] };
  readFileSync(path, 'utf8')
    .split('\n')
    .forEach((line, i) => {
      if (!line) return;
      const row = JSON.parse(line) as { split?: string; task?: Task };
      if ((row.split !== 'train' && row.split !== 'heldOut') || !row.task)
        throw new LabError('a row has no split or no task', {
          where: `${path} line ${i + 1}`,
          remedy: 'start the run anew with --out',
        });
      split[row.split].push(row.task);
    });
  return split;
}
