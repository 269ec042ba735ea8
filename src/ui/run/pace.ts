/** How far back the rate looks, in seconds: long enough to be calm, short enough to follow a change. */
const WINDOW = 20;

/** Time left of a stage, from how fast it went lately. Paused time does not count: the caller's clock leaves it out. */
export class Pace {
  #key = '';
  #marks: { seconds: number; done: number }[] = [];

  /** Notes progress. @param key what is under way; another key starts afresh. @param seconds of work so far. */
  note(key: string, done: number, seconds: number): void {
    if (key !== this.#key || done < (this.#marks.at(-1)?.done ?? 0)) {
      this.#key = key;
      this.#marks = [];
    }
    this.#marks.push({ seconds, done });
    while (this.#marks.length > 2 && seconds - (this.#marks[0]?.seconds ?? 0) > WINDOW) this.#marks.shift();
  }

  /** Seconds until `total` at the rate of late; `null` where nothing can be said yet. */
  left(total: number): number | null {
    const first = this.#marks[0];
    const last = this.#marks.at(-1);
    if (!first || !last || total <= 0) return null;
    const done = last.done - first.done;
    const seconds = last.seconds - first.seconds;
    if (done <= 0 || seconds < 0.5) return null;
    return (Math.max(0, total - last.done) * seconds) / done;
  }
}
