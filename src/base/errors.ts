/** An error that says what happened, where, and what to do about it. Thrown to the user's face as it is. */
export class LabError extends Error {
  override readonly name = 'LabError';
  /** Where: a file and line, an argument, a control. */
  readonly where: string;
  /** What the reader can do. */
  readonly remedy: string;

  constructor(what: string, options: { where?: string; remedy?: string; cause?: unknown } = {}) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.where = options.where ?? '';
    this.remedy = options.remedy ?? '';
  }

  /** One sentence for a page or a terminal. */
  override toString(): string {
    const place = this.where ? `${this.where}: ` : '';
    return `${place}${this.message}${this.remedy ? ` — ${this.remedy}` : ''}`;
  }
}

/** Throws where a condition that the code itself guarantees does not hold. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`Broken assumption: ${what}`);
}
