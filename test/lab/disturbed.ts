import { normaliseConfig } from '../../src/lab/config.ts';
import { localServices } from '../../src/lab/local.ts';
import { runExperiment } from '../../src/lab/run.ts';
import type { RunEvent, Services } from '../../src/lab/services.ts';
import { methods } from '../../src/methods/index.ts';
import type { RunSpec, TaskSplit } from '../../src/methods/method.ts';
import { toolspace } from '../../src/methods/toolspace/experiment.ts';
import type { PolicyEngine, PolicyShape, Sampler } from '../../src/policy/engine.ts';

/** Calls that a run makes of an engine, in their order. */
export type Call = 'open' | 'initialise' | 'load' | 'train' | 'stats' | 'save' | 'turn';
/** Does the work of a call, or something else in its place. */
export type Disturb = <T>(call: Call, work: () => T) => T;

/** The engine, with every call of a run through `disturb`. */
export function disturbed(engine: PolicyEngine, disturb: Disturb): PolicyEngine {
  const sampler = (rollouts: number): Sampler => {
    const inner = engine.sampler(rollouts);
    return {
      rollouts: inner.rollouts,
      reset: () => inner.reset(),
      turn: (inputs, options) => disturb('turn', () => inner.turn(inputs, options)),
      destroy: () => inner.destroy(),
    };
  };
  return {
    shape: engine.shape,
    device: engine.device,
    initialise: (seed) => disturb('initialise', () => engine.initialise(seed)),
    train: (batch, options) => disturb('train', () => engine.train(batch, options)),
    stats: () => disturb('stats', () => engine.stats()),
    logits: (batch) => engine.logits(batch),
    evaluate: (...given) => engine.evaluate(...given),
    sampler,
    save: () => disturb('save', () => engine.save()),
    load: (checkpoint) => disturb('load', () => engine.load(checkpoint)),
    destroy: () => engine.destroy(),
  };
}

/** A run of seconds: 30 steps, a checkpoint and an evaluation every 10, names drawn afresh. */
export const SPEC: RunSpec = {
  method: toolspace.id,
  preset: 'micro',
  config: normaliseConfig(toolspace, 'micro', {
    trajectories: 100,
    tasks: 20,
    heldOut: 10,
    width: '32',
    layers: 1,
    steps: 30,
    tokens: 256,
    warmup: 5,
    evaluateEvery: 10,
  }),
  arms: ['untrained', 'trained'],
  seed: 3,
};

const none = localServices(methods, {
  clock: () => 0,
  openPolicy: () => Promise.reject(new Error('no policy is needed here')),
});
let made: Promise<TaskSplit> | null = null;

/** The tasks of `SPEC`, made once. */
function tasks(): Promise<TaskSplit> {
  made ??= (async () => {
    for await (const event of runExperiment(toolspace, SPEC, none))
      if (event.type === 'dataset') return event.tasks;
    throw new Error('no tasks were made');
  })();
  return made;
}

/** Where policies come from, and what hears of failures. */
export interface Place {
  open(shape: PolicyShape, capacity: number): Promise<PolicyEngine>;
  failed?(error: unknown): Promise<unknown>;
}

/** Everything that `SPEC` tells at a place. @param now the time that failures are told at. */
export async function tell(
  place: Place,
  disturb: Disturb,
  now: () => number = hours(),
  away?: () => Promise<void> | null,
): Promise<RunEvent[]> {
  const services: Services = {
    ...localServices(methods, {
      clock: () => 0,
      ...(place.failed ? { failed: place.failed } : {}),
      openPolicy: async (shape, capacity) =>
        disturbed(await disturb('open', () => place.open(shape, capacity)), disturb),
    }),
  };
  const resume = { tasks: await tasks(), arms: {}, rejected: 0 };
  const events: RunEvent[] = [];
  const options = { resume, now, clock: () => 0, ...(away ? { away } : {}) };
  for await (const event of runExperiment(toolspace, SPEC, services, options)) events.push(event);
  return events;
}

/** A clock that an hour passes on between two looks. */
export function hours(): () => number {
  let hour = 0;
  return () => hour++ * 3_600_000;
}

/** What of a run's events its reader keeps: all but progress, and what was said about failures. */
export const kept = (events: readonly RunEvent[]): RunEvent[] =>
  events.filter(({ type }) => type !== 'progress' && type !== 'recovery');

export const recoveries = (events: readonly RunEvent[]) =>
  events.filter((event) => event.type === 'recovery');
