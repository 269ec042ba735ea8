import { type FailureKind, failureKind, LabError } from '../base/errors.ts';
import type { LearnEvent, LearnResume } from '../methods/method.ts';
import type { Recovery } from './services.ts';

/** Milliseconds within which a second failure ends the run: what comes back so soon will come again. */
const SOON = 60_000;
/** Failures without a new checkpoint between them after which the run ends, however slowly they come. */
const MOST_AT_ONE_PLACE = 3;

const WHAT: Record<FailureKind, string> = {
  'device lost': 'The graphics device was lost',
  'worker lost': 'The worker that trains broke down',
  'out of memory': 'The graphics device ran out of memory',
  'not a number': 'Training computed something that is no finite number',
};

const KEPT = 'the last checkpoint is kept';
const LIGHTER = `lower the tokens a step, close other tabs and programs that use the graphics device, update its driver, or train on the CPU engine; ${KEPT}`;
const ADVICE: Record<FailureKind, string> = {
  'device lost': LIGHTER,
  'worker lost': LIGHTER,
  'out of memory': LIGHTER,
  'not a number': `lower the learning rate; ${KEPT}`,
};

export interface RecoveryOptions {
  /** Milliseconds from any moment on. */
  now(): number;
  /** Where nobody watches (a hidden tab): resolves when somebody does again. `null` where somebody watches. */
  away?(): Promise<void> | null;
}

/**
 * A learner's stream that survives the loss of its device, a lack of memory and numbers that are not finite: it is begun
 * anew from the last checkpoint told of (kept in memory; the initial weights before the first one), after one event that
 * says so. What the reader was told already is not told again: on one device the repeated steps have the same values
 * bit for bit, and where another device takes over, what was told first stands.
 * @param learn begins the stream, on another device where the last one failed.
 * @throws LabError with advice on a second failure within a minute, the same number that is not finite, or a third
 * failure without a checkpoint between; where nobody watches, the stream waits for somebody instead.
 */
export async function* recovering(
  learn: (resume?: LearnResume) => AsyncIterable<LearnEvent>,
  resume: LearnResume | undefined,
  options: RecoveryOptions,
): AsyncGenerator<LearnEvent | Recovery> {
  const told = new Told(resume);
  let before: Failure | null = null;
  for (;;) {
    try {
      for await (const event of learn(told.resume)) {
        const news = told.hear(event);
        if (news) yield news;
      }
      return;
    } catch (error) {
      const kind = failureKind(error);
      if (kind === null) throw error;
      const failure: Failure = { kind, time: options.now(), place: told.place, count: 1 };
      if (before?.place === failure.place) failure.count += before.count;
      if (isHopeless(failure, before)) {
        const watched = kind === 'not a number' ? null : options.away?.();
        if (!watched) throw giveUp(kind, told.where, error);
        await watched;
        failure.time = options.now();
        failure.count = 1;
      }
      before = failure;
      yield told.recovery(kind);
    }
  }
}

interface Failure {
  kind: FailureKind;
  time: number;
  /** The arm and the step that its stream began from. */
  place: string;
  /** Failures at this place, this one included. */
  count: number;
}

function isHopeless(failure: Failure, before: Failure | null): boolean {
  if (before === null) return false;
  if (failure.time - before.time < SOON || failure.count >= MOST_AT_ONE_PLACE) return true;
  return failure.kind === 'not a number' && before.kind === failure.kind && before.place === failure.place;
}

function giveUp(kind: FailureKind, where: string, cause: unknown): LabError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new LabError(`${WHAT[kind]}${where}, not for the first time (${why})`, {
    where: 'training',
    remedy: ADVICE[kind],
    cause,
  });
}

/** What the reader knows: where a stream goes on, and what of it is news. */
class Told {
  readonly #finished: Set<string>;
  /** Last step told of each arm. */
  readonly #steps = new Map<string, number>();
  readonly #exams = new Set<string>();
  #last: Required<Pick<LearnResume, 'arm' | 'checkpoint'>> | null = null;
  #device = '';
  #arm = '';
  #evaluating = false;

  constructor(resume: LearnResume | undefined) {
    this.#finished = new Set(resume?.finished);
    if (resume?.arm === undefined || !resume.checkpoint) return;
    this.#last = { arm: resume.arm, checkpoint: resume.checkpoint };
  }

  get resume(): LearnResume {
    return { finished: [...this.#finished], ...this.#last };
  }

  /** The arm and the step that the stream goes on from. */
  get place(): string {
    return `${this.#arm}/${this.#from}`;
  }

  /** Where the stream is, as part of a sentence. */
  get where(): string {
    if (this.#evaluating) return ` while ${this.#arm} was evaluated`;
    return this.#step > 0 ? ` at step ${this.#step}` : ' before the first step';
  }

  /** The part of an event that is news; `null` where nothing of it is. */
  hear(event: LearnEvent): LearnEvent | null {
    if ('arm' in event && event.arm !== undefined) this.#arm = event.arm;
    switch (event.type) {
      case 'progress':
        this.#evaluating = event.stage === 'evaluate';
        return event;
      case 'device': {
        const text = JSON.stringify(event);
        const same = text === this.#device;
        this.#device = text;
        return same ? null : event;
      }
      case 'steps': {
        this.#evaluating = false;
        const last = this.#steps.get(event.arm) ?? 0;
        const stats = event.stats.filter(({ step }) => step > last);
        if (stats.length === 0) return null;
        this.#steps.set(event.arm, stats.at(-1)!.step);
        return { ...event, stats };
      }
      case 'evaluation': {
        this.#evaluating = false;
        const exam = `${event.arm}/${event.step}`;
        if (this.#exams.has(exam)) return null;
        this.#exams.add(exam);
        return event;
      }
      case 'checkpoint':
        this.#last = { arm: event.arm, checkpoint: event.checkpoint };
        return event;
      case 'arm':
        this.#finished.add(event.arm);
        if (this.#last?.arm === event.arm) this.#last = null;
        return event;
    }
  }

  recovery(kind: FailureKind): Recovery {
    const from = this.#from;
    const next = from > 0 ? `training goes on from step ${from}` : 'it starts again from the initial weights';
    const text = `${WHAT[kind]}${this.where}; ${next}.`;
    return { type: 'recovery', kind, arm: this.#arm, step: this.#step, from, text };
  }

  get #from(): number {
    return this.#last && (this.#arm === '' || this.#last.arm === this.#arm) ? this.#last.checkpoint.step : 0;
  }

  get #step(): number {
    return Math.max(this.#from, this.#steps.get(this.#arm) ?? 0);
  }
}
