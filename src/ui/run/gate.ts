/** A barrier in a loop: closed, it lets nothing through but what `step` permits. */
export class Gate {
  #open = true;
  #permits = 0;
  #waiting: (() => void) | null = null;

  get isOpen(): boolean {
    return this.#open;
  }

  open(): void {
    this.#open = true;
    this.#release();
  }

  close(): void {
    this.#open = false;
  }

  /** Lets one more item through a closed gate. */
  step(): void {
    this.#permits += 1;
    this.#release();
  }

  /** Waits until the gate lets the next item through. */
  async pass(): Promise<void> {
    while (!this.#open && this.#permits === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    if (!this.#open) this.#permits -= 1;
    else this.#permits = 0;
  }

  #release(): void {
    this.#waiting?.();
    this.#waiting = null;
  }
}
