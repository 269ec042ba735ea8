import { LabError } from '../base/errors.ts';
import type { LearnEvent, LearnResume, Method, PrepareEvent, RunSpec, TaskSplit } from '../methods/method.ts';
import type { Task, Verdict } from '../task/model.ts';
import { taskSetHash } from '../task/synthesis/dataset.ts';
import { type RecoveryOptions, recovering } from './recovery.ts';
import type { RunEvent, RunSummary, Services } from './services.ts';

/** Where an interrupted run stood: its tasks, and how far training had come. */
export interface RunResume {
  tasks: TaskSplit;
  /** Metrics of the arms that are finished. */
  arms: RunSummary['arms'];
  rejected: number;
  learn?: LearnResume;
}

export interface RunOptions extends Partial<RecoveryOptions> {
  resume?: RunResume;
  /** A checkpoint to go on from where there is no `resume`: the tasks are made anew, which must give the same ones. */
  from?: LearnResume;
  /** Milliseconds, for the figure "seconds" only. */
  clock?: () => number;
}

/**
 * One run of an experiment from traces to figures: prepare → verify → split → learn. The page and the command line
 * both consume this stream and know nothing else of a run. Pulling drives it: stop pulling to pause, return to stop.
 * Training survives the loss of its device (see `recovering`).
 * @throws LabError where no task passes the gate.
 */
export async function* runExperiment(
  method: Method,
  spec: RunSpec,
  services: Services,
  options: RunOptions = {},
): AsyncGenerator<RunEvent> {
  const clock = options.clock ?? (() => performance.now());
  const began = clock();
  const made = options.resume ?? (yield* makeTasks(method, spec, services));
  const hash = taskSetHash([...made.tasks.train, ...made.tasks.heldOut]);
  yield { type: 'dataset', tasks: made.tasks, hash };

  const arms: RunSummary['arms'] = { ...made.arms };
  const learning = recovering(
    (resume) => services.learn(spec, made.tasks, resume),
    made.learn ?? options.from,
    { ...options, now: options.now ?? (() => performance.now()) },
  );
  for await (const event of learning) {
    if (event.type === 'evaluation') arms[event.arm] = armFigures(event);
    yield event;
  }
  const { train, heldOut } = made.tasks;
  yield {
    type: 'done',
    summary: {
      arms,
      taskSet: { hash, train: train.length, heldOut: heldOut.length, rejected: made.rejected },
      seconds: (clock() - began) / 1000,
    },
  };
}

/** The figures of an arm as its latest evaluation has them. */
function armFigures(event: Extract<LearnEvent, { type: 'evaluation' }>): Record<string, number> {
  return { success: event.success.mean, ...event.metrics };
}

/** Candidate tasks from the method, through the replay gate while more are being made. */
async function* makeTasks(
  method: Method,
  spec: RunSpec,
  services: Services,
): AsyncGenerator<PrepareEvent | Extract<RunEvent, { type: 'verdicts' }>, RunResume> {
  const candidates: Task[] = [];
  const passed = new Set<string>();
  let pending: Promise<Verdict[]>[] = [];
  let judged = 0;
  let expected = 0;
  const settle = async function* (): AsyncGenerator<PrepareEvent | Extract<RunEvent, { type: 'verdicts' }>> {
    const waiting = pending;
    pending = [];
    for (const verdicts of await Promise.all(waiting)) {
      for (const verdict of verdicts) if (verdict.passed) passed.add(verdict.task);
      judged += verdicts.length;
      yield { type: 'verdicts', verdicts };
    }
    yield { type: 'progress', stage: 'verify', done: judged, total: expected, unit: 'tasks' };
  };
  for await (const event of services.prepare(spec)) {
    if (event.type === 'progress' && event.stage === 'walk') expected = event.total;
    yield event;
    if (event.type !== 'tasks') continue;
    candidates.push(...event.tasks);
    pending.push(services.verify(method.id, event.tasks));
    // A few batches at a time are under way in the pool of verifiers.
    if (pending.length >= 4) yield* settle();
  }
  expected = candidates.length;
  yield* settle();
  const kept = candidates.filter((task) => passed.has(task.id));
  if (kept.length === 0)
    throw new LabError(`none of ${candidates.length} candidate tasks passed the replay gate`, {
      where: 'tasks',
      remedy: 'raise the number of trajectories, or lower the least count of an edge',
    });
  return { tasks: method.split(spec, kept), arms: {}, rejected: candidates.length - kept.length };
}
