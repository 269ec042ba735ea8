import { writeFileSync } from 'node:fs';
import type { RunEvent } from '../lab/services.ts';
import type { RunSpec } from '../methods/method.ts';
import type { Task } from '../task/model.ts';

/** Tasks, and of those unseen ones, that a recording holds: enough to read, few enough to load at once. */
const TASKS = 120;
const UNSEEN = 40;
/** Walks whose moves are kept. */
const WALKS = 60;

/** A run as the page plays it before the reader's own: its events without checkpoints, and a part of its tasks. */
export class Recording {
  readonly #spec: RunSpec;
  readonly #events: RunEvent[] = [];
  #kept = new Set<string>();
  #device = '';

  constructor(spec: RunSpec) {
    this.#spec = spec;
  }

  /** Passes events on and keeps what the page needs of them. */
  async *tap(events: AsyncIterable<RunEvent>): AsyncGenerator<RunEvent> {
    for await (const event of events) {
      const kept = this.#reduce(event);
      if (kept) this.#events.push(kept);
      yield event;
    }
  }

  write(path: string): void {
    const head = { version: 1, date: new Date().toISOString(), device: this.#device, spec: this.#spec };
    writeFileSync(path, `${JSON.stringify({ ...head, events: this.#events })}\n`);
  }

  #reduce(event: RunEvent): RunEvent | null {
    switch (event.type) {
      case 'checkpoint':
        return null;
      case 'device':
        this.#device = event.device.name;
        return event;
      case 'moves': {
        const moves = event.moves.filter(({ walk }) => walk < WALKS);
        return moves.length > 0 ? { ...event, moves } : null;
      }
      case 'tasks': {
        const tasks = event.tasks.slice(0, TASKS - this.#kept.size);
        for (const { id } of tasks) this.#kept.add(id);
        return tasks.length > 0 ? { ...event, tasks } : null;
      }
      case 'verdicts': {
        const verdicts = event.verdicts.filter(({ task }) => this.#kept.has(task));
        return verdicts.length > 0 ? { ...event, verdicts } : null;
      }
      case 'dataset': {
        const { train, heldOut } = event.tasks;
        const some = (tasks: Task[]) => tasks.filter(({ id }) => this.#kept.has(id)).slice(0, UNSEEN);
        const of = { train: train.length, heldOut: heldOut.length };
        return { ...event, tasks: { train: some(train), heldOut: some(heldOut) }, of };
      }
      default:
        return event;
    }
  }
}
