/** Seconds of work: time during which the clock was held does not count. */
export class WorkClock {
  #began = performance.now();
  #held: number | null = null;
  #lost = 0;

  hold(): void {
    this.#held ??= performance.now();
  }

  release(): void {
    if (this.#held !== null) this.#lost += performance.now() - this.#held;
    this.#held = null;
  }

  /** Milliseconds. */
  now(): number {
    return (this.#held ?? performance.now()) - this.#began - this.#lost;
  }
}
