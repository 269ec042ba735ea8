import { type FailureKind, LabError } from '../base/errors.ts';

/** An error as it crosses between threads and processes: a copy would lose where it happened, the remedy and its kind. */
export interface CarriedError {
  lab: boolean;
  message: string;
  where: string;
  remedy: string;
  kind: FailureKind | null;
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; error: CarriedError };

/** Runs `work` and turns what it throws into data. */
export async function carry<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    const lab = error instanceof LabError ? error : null;
    return {
      ok: false,
      error: {
        lab: lab !== null,
        message: error.message,
        where: lab?.where ?? '',
        remedy: lab?.remedy ?? '',
        kind: lab?.kind ?? null,
      },
    };
  }
}

/** The value, or the error that was thrown on the other side. */
export function unwrap<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  const { lab, message, where, remedy, kind } = outcome.error;
  throw lab ? new LabError(message, { where, remedy, kind }) : new Error(message);
}
