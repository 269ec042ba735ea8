/**
 * Failures after which work can go on elsewhere from a checkpoint: the device is gone, the worker that held it is gone,
 * memory did not suffice, or what was computed is no finite number.
 */
export const FAILURE_KINDS = ['device lost', 'worker lost', 'out of memory', 'not a number'] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** An error that says what happened, where, and what to do about it. Thrown to the user's face as it is. */
export class LabError extends Error {
  override readonly name = 'LabError';
  /** Where: a file and line, an argument, a control. */
  readonly where: string;
  /** What the reader can do. */
  readonly remedy: string;
  /** What failed, where going on from a checkpoint may help; `null` for everything else. */
  readonly kind: FailureKind | null;

  constructor(
    what: string,
    options: { where?: string; remedy?: string; kind?: FailureKind | null; cause?: unknown } = {},
  ) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.where = options.where ?? '';
    this.remedy = options.remedy ?? '';
    this.kind = options.kind ?? null;
  }

  /** One sentence for a page or a terminal. */
  override toString(): string {
    const place = this.where ? `${this.where}: ` : '';
    return `${place}${this.message}${this.remedy ? ` — ${this.remedy}` : ''}`;
  }
}

/** The kind of failure that `error` is, or `null` where it is none that a checkpoint helps against. */
export function failureKind(error: unknown): FailureKind | null {
  return error instanceof LabError ? error.kind : null;
}

/** Throws where a condition that the code itself guarantees does not hold. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`Broken assumption: ${what}`);
}
