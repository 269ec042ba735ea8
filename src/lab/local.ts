import { LabError } from '../base/errors.ts';
import type {
  LearnContext,
  LearnEvent,
  LearnResume,
  Method,
  PrepareEvent,
  RunSpec,
  TaskSplit,
} from '../methods/method.ts';
import type { Task, Verdict } from '../task/model.ts';
import { mineFiles } from './mine.ts';
import type { MineEvent, Services, TraceSource } from './services.ts';

/** What a place that trains must bring along: a policy on its device, and a clock for rates. */
export interface LocalContext extends Pick<LearnContext, 'openPolicy' | 'clock'> {
  /** Hears of what ended the learning, so that a device that failed is not used again; answers the error to throw. */
  failed?(error: unknown): Promise<unknown>;
}

/** The services, done right here: in Node for the command line, inside each worker for the page. */
export function localServices(methods: readonly Method[], context: LocalContext): Services {
  const find = (id: string): Method => {
    const method = methods.find((one) => one.id === id);
    if (!method)
      throw new LabError(`there is no method "${id}"`, {
        where: 'method',
        remedy: `choose one of: ${methods.map((one) => one.id).join(', ')}`,
      });
    return method;
  };
  return {
    mine: (files: TraceSource[]): AsyncIterable<MineEvent> => mineFiles(files, context.clock),
    async *prepare(spec: RunSpec): AsyncGenerator<PrepareEvent> {
      yield* find(spec.method).prepare(spec);
    },
    async verify(method: string, tasks: Task[]): Promise<Verdict[]> {
      return find(method).verify(tasks);
    },
    async *learn(spec: RunSpec, tasks: TaskSplit, resume?: LearnResume): AsyncGenerator<LearnEvent> {
      const { openPolicy, clock } = context;
      try {
        yield* find(spec.method).learn(spec, tasks, { openPolicy, clock, ...(resume ? { resume } : {}) });
      } catch (error) {
        throw context.failed ? await context.failed(error) : error;
      }
    },
  };
}
