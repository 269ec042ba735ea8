import { counted, duration } from '../words.ts';

/** A tab hidden for less is not worth a line. Seconds. */
const WORTH_A_LINE = 5;

/** Knows since when the tab is hidden, and says what happened meanwhile. */
export class HiddenTab {
  #hidden: { since: number; step: number } | null = null;

  /** The tab was hidden while training stood at `step`. */
  hide(step: number): void {
    this.#hidden = { since: performance.now(), step };
  }

  /** The tab is shown again. @returns what the log says of a run that went on, given its step now; `null` where nothing. */
  show(): ((step: number) => string) | null {
    const before = this.#hidden;
    this.#hidden = null;
    const seconds = before ? (performance.now() - before.since) / 1000 : 0;
    if (!before || seconds < WORTH_A_LINE) return null;
    return (step) => {
      const done = step - before.step;
      return `The tab was hidden for ${duration(seconds)}; the run went on${done > 0 ? `: ${counted(done, 'step')}` : ''}.`;
    };
  }
}
