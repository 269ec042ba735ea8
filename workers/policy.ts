import * as Comlink from 'comlink';
import { localServices } from '../src/lab/local.ts';
import { carry } from '../src/lab/outcome.ts';
import { methods } from '../src/methods/index.ts';
import type { LearnResume, RunSpec, TaskSplit } from '../src/methods/method.ts';
import type { Task } from '../src/task/model.ts';
import { failed, openPolicy, probeDevice } from './engine.ts';
import { ownedBuffers, StreamHost } from './host.ts';

/** Worker `policy`: owns the device; trains, samples, evaluates. */
const services = localServices(methods, { openPolicy, failed, clock: () => performance.now() });
const streams = new StreamHost();
let tasks: TaskSplit = { train: [], heldOut: [] };

const api = {
  probe: () => carry(probeDevice),
  /** Forgets the tasks of the run before; the next ones arrive in portions, so that sending them blocks nobody. */
  clear: () =>
    carry(() => {
      tasks = { train: [], heldOut: [] };
    }),
  add: (side: keyof TaskSplit, portion: Task[]) => carry(() => void tasks[side].push(...portion)),
  learn: (spec: RunSpec, resume?: LearnResume) =>
    carry(() => streams.open(services.learn(spec, tasks, resume))),
  next: async (id: number) => {
    const outcome = await carry(() => streams.next(id));
    return Comlink.transfer(outcome, ownedBuffers(outcome));
  },
  close: (id: number) => carry(() => streams.close(id)),
};

export type PolicyApi = typeof api;
Comlink.expose(api);
