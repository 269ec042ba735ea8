import * as Comlink from 'comlink';
import type { DeviceChoice, DeviceProbe } from '../../workers/engine.ts';
import type { Batch } from '../../workers/host.ts';
import type { GraphLayout } from '../../workers/layout.ts';
import type { PolicyApi } from '../../workers/policy.ts';
import type { RecordingHead } from '../../workers/recording.ts';
import type { VerifyApi } from '../../workers/verify.ts';
import type { WalkApi } from '../../workers/walk.ts';
import { LabError } from '../base/errors.ts';
import type { PortableCheckpoint } from '../lab/checkpointFile.ts';
import { type Outcome, unwrap } from '../lab/outcome.ts';
import type { MineEvent, RunEvent, Services, TraceSource } from '../lab/services.ts';
import type { LearnEvent, LearnResume, PrepareEvent, RunSpec, TaskSplit } from '../methods/method.ts';
import type { TrainingCheckpoint } from '../policy/training.ts';
import type { Task, ToolGraph, Verdict } from '../task/model.ts';

/** A file of the user's with the path it had in the folder that was dropped. The file itself goes to the worker. */
export interface DroppedFile extends TraceSource {
  file: Blob;
}

/** The lab's services as the page has them, and what only a page needs. */
export interface PageServices extends Services {
  mine(files: DroppedFile[]): AsyncIterable<MineEvent>;
  /** Mines traces that are kept in this browser. */
  mineKept(ids: string[]): AsyncIterable<MineEvent>;
  /** Keeps trace files in this browser; answers how many. */
  keep(files: DroppedFile[]): Promise<number>;
  /** Where the nodes and edges of a graph's picture lie, for a page that has `room` pixels of width. */
  layout(graph: ToolGraph, room: number): Promise<GraphLayout>;
  /** A checkpoint as a `.safetensors` file. */
  packCheckpoint(checkpoint: TrainingCheckpoint): Promise<Uint8Array>;
  /** Reads such a file. */
  unpackCheckpoint(file: Blob): Promise<PortableCheckpoint>;
  /** Says what policies are to run on, from the next run on. @returns where they will. */
  choose(choice: DeviceChoice): Promise<DeviceProbe>;
  /** Learns on a device of one's own choice. */
  learnOn(choice: DeviceChoice, ...run: Parameters<Services['learn']>): AsyncIterable<LearnEvent>;
  /** A recorded run: its head, then its events; nothing where the file is absent. */
  recording(address: string): AsyncIterable<RecordingHead | RunEvent>;
}

/** Tasks sent in one message: copying so many takes a few milliseconds. */
const PORTION = 48;

interface StreamPort {
  next(id: number): Promise<Outcome<Batch<unknown>>>;
  close(id: number): Promise<Outcome<void>>;
}

/** Waits for a worker's answer, or is refused where the worker breaks down. */
type Await = <P extends Promise<unknown>>(answer: P) => Promise<Awaited<P>>;

/** Pulls a worker's stream, one batch ahead of the reader. Returning from it stops the work over there. */
export async function* pull<T>(
  port: StreamPort,
  opened: Promise<Outcome<number>>,
  answered: Await = (answer) => Promise.resolve(answer),
): AsyncGenerator<T> {
  const id = unwrap(await answered(opened));
  const request = () => {
    const batch = answered(port.next(id));
    // A reader who leaves never looks at the batch ahead.
    batch.catch(() => undefined);
    return batch;
  };
  let next = request();
  try {
    for (;;) {
      const { items, done } = unwrap(await next) as Batch<T>;
      if (!done) next = request();
      yield* items;
      if (done) return;
    }
  } finally {
    await answered(port.close(id)).catch(() => undefined);
  }
}

/** What of a file can be sent to a worker. */
const asSent = ({ path, file }: DroppedFile) => ({ path, file });

function portions<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / PORTION) }, (_, i) =>
    items.slice(i * PORTION, (i + 1) * PORTION),
  );
}

/** A worker and how its answers are awaited. */
interface Port<T> {
  remote: Comlink.Remote<T>;
  answered: Await;
}

/**
 * A worker that is started when it is first needed, and again where it broke down: then what waits for it is refused.
 * @param name what it is called in the error.
 */
export function replaced<T>(
  start: () => Worker,
  name = { what: 'The worker that trains', where: 'policy worker' },
): () => Port<T> {
  let port: Port<T> | undefined;
  return () => {
    if (port) return port;
    const worker = start();
    const broken = new Promise<never>((_, reject) =>
      worker.addEventListener('error', (event) => {
        port = undefined;
        worker.terminate();
        reject(
          new LabError(`${name.what} broke down${event.message ? ` (${event.message})` : ''}`, {
            where: name.where,
            remedy: 'Reload the page; what was saved is still there.',
            kind: 'worker lost',
          }),
        );
      }),
    );
    broken.catch(() => undefined);
    port = { remote: Comlink.wrap<T>(worker), answered: (answer) => Promise.race([answer, broken]) };
    return port;
  };
}

/**
 * The page's services: one worker for walks, one for the policy, and a small pool that verifies. Each starts when it is
 * first needed, the policy's again where it broke down. @param failed hears of any other that could not load or broke
 * down: its calls will never be answered.
 */
export function workerServices(
  failed: (error: LabError) => void,
  cores = navigator.hardwareConcurrency,
): PageServices {
  function lazily<T>(name: string, start: () => Worker): () => Comlink.Remote<T> {
    let remote: Comlink.Remote<T> | undefined;
    return () => {
      if (remote) return remote;
      const worker = start();
      worker.addEventListener('error', (event) =>
        failed(
          new LabError(`The ${name} worker broke down${event.message ? ` (${event.message})` : ''}.`, {
            remedy: 'Reload the page; what was saved is still there.',
          }),
        ),
      );
      remote = Comlink.wrap<T>(worker);
      return remote;
    };
  }
  const walk = lazily<WalkApi>(
    'walk',
    () => new Worker(new URL('../../workers/walk.ts', import.meta.url), { type: 'module' }),
  );
  const policy = replaced<PolicyApi>(
    () => new Worker(new URL('../../workers/policy.ts', import.meta.url), { type: 'module' }),
  );
  const pool = Array.from({ length: cores > 2 ? 2 : 1 }, () =>
    lazily<VerifyApi>(
      'verify',
      () => new Worker(new URL('../../workers/verify.ts', import.meta.url), { type: 'module' }),
    ),
  );

  async function verify(method: string, tasks: Task[]): Promise<Verdict[]> {
    const waiting = portions(tasks);
    const verdicts: Verdict[][] = [];
    let taken = 0;
    const work = async (worker: Comlink.Remote<VerifyApi>) => {
      for (let i = taken++; i < waiting.length; i = taken++) {
        verdicts[i] = unwrap(await worker.verify(method, waiting[i] as Task[]));
      }
    };
    await Promise.all(pool.slice(0, waiting.length).map((worker) => work(worker())));
    return verdicts.flat();
  }

  let chosen: DeviceChoice = 'auto';
  async function* learnOn(
    choice: DeviceChoice,
    spec: RunSpec,
    tasks: TaskSplit,
    resume?: LearnResume,
  ): AsyncGenerator<LearnEvent> {
    const { remote, answered } = policy();
    unwrap(await answered(remote.clear()));
    for (const side of ['train', 'heldOut'] as const) {
      for (const portion of portions(tasks[side])) unwrap(await answered(remote.add(side, portion)));
    }
    yield* pull<LearnEvent>(remote, remote.learn(choice, spec, resume), answered);
  }

  return {
    mine: (files: DroppedFile[]) => pull<MineEvent>(walk(), walk().mine(files.map(asSent))),
    mineKept: (ids) => pull<MineEvent>(walk(), walk().mineKept(ids)),
    keep: async (files) => unwrap(await walk().keep(files.map(asSent))),
    prepare: (spec) => pull<PrepareEvent>(walk(), walk().prepare(spec)),
    verify,
    learn: (...run) => learnOn(chosen, ...run),
    learnOn,
    packCheckpoint: async (checkpoint) => unwrap(await walk().packCheckpoint(checkpoint)),
    unpackCheckpoint: async (file) => unwrap(await walk().unpackCheckpoint(file)),
    layout: async (graph, room) => unwrap(await walk().layout(graph, room)),
    choose: async (choice) => {
      chosen = choice;
      const { remote, answered } = policy();
      return unwrap(await answered(remote.probe(choice)));
    },
    recording: (address) => pull<RecordingHead | RunEvent>(walk(), walk().recording(address)),
  };
}
