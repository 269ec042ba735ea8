import * as Comlink from 'comlink';
import { localServices } from '../src/lab/local.ts';
import { carry } from '../src/lab/outcome.ts';
import { methods } from '../src/methods/index.ts';
import type { LearnResume, RunSpec, TaskSplit } from '../src/methods/method.ts';
import type { Task } from '../src/task/model.ts';
import { type DeviceChoice, failed, openPolicy, probeDevice } from './engine.ts';
import { ownedBuffers, StreamHost } from './host.ts';

/** Worker `policy`: owns the device; trains, samples, evaluates. */
let choice: DeviceChoice = 'auto';
const services = localServices(methods, {
  openPolicy: (shape, capacity) => openPolicy(choice, shape, capacity),
  failed,
  clock: () => performance.now(),
});
const streams = new StreamHost();
let tasks: TaskSplit = { train: [], heldOut: [] };

const api = {
  /** Where policies will run if they are to run on `wanted`. */
  probe: (wanted: DeviceChoice) => carry(() => probeDevice(wanted)),
  /** Forgets the tasks of the run before; the next ones arrive in portions, so that sending them blocks nobody. */
  clear: () =>
    carry(() => {
      tasks = { train: [], heldOut: [] };
    }),
  add: (side: keyof TaskSplit, portion: Task[]) => carry(() => void tasks[side].push(...portion)),
  learn: (wanted: DeviceChoice, spec: RunSpec, resume?: LearnResume) =>
    carry(() => {
      choice = wanted;
      return streams.open(services.learn(spec, tasks, resume));
    }),
  next: async (id: number) => {
    const outcome = await carry(() => streams.next(id));
    return Comlink.transfer(outcome, ownedBuffers(outcome));
  },
  close: (id: number) => carry(() => streams.close(id)),
};

export type PolicyApi = typeof api;
Comlink.expose(api);
