import * as Comlink from 'comlink';
import type { BenchApi } from '../../../workers/bench.ts';
import { LabError } from '../../base/errors.ts';
import type { BenchEvent } from '../../lab/bench/event.ts';
import type { PeerName } from '../../lab/bench/peers/peer.ts';
import type { PlanName } from '../../lab/bench/plan.ts';
import { type BenchTable, emptyTable, withEvent } from '../../lab/bench/table.ts';
import { pull } from '../services.ts';
import { sentence } from '../words.ts';

type Progress = Extract<BenchEvent, { type: 'progress' }>;

/** A measurement of this browser's engine: what it found so far, how far it is, and how to stop it. */
export class Measuring {
  table = $state.raw<BenchTable | null>(null);
  progress = $state.raw<Progress | null>(null);
  error = $state<string | null>(null);
  busy = $state(false);
  /** True where the table is whole: it was not stopped. */
  complete = $state(false);
  #stop: (() => void) | null = null;

  /** Measures anew. Each time in a worker of its own, which ends with it: so do all devices and libraries. */
  async start(plan: PlanName, against: PeerName[]): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    this.complete = false;
    this.error = null;
    this.progress = null;
    this.table = emptyTable(new Date().toISOString(), navigator.userAgent);
    const worker = new Worker(new URL('../../../workers/bench.ts', import.meta.url), { type: 'module' });
    let stopped = false;
    const ended = new Promise<never>((_, reject) => {
      this.#stop = () => {
        stopped = true;
        reject(new LabError('stopped'));
      };
      worker.addEventListener('error', (event) =>
        reject(
          new LabError(`The worker that measures broke down${event.message ? ` (${event.message})` : ''}`, {
            remedy: 'Reload the page and measure again.',
          }),
        ),
      );
    });
    ended.catch(() => undefined);
    try {
      const remote = Comlink.wrap<BenchApi>(worker);
      const answered = <P extends Promise<unknown>>(answer: P): Promise<Awaited<P>> =>
        Promise.race([answer, ended]) as Promise<Awaited<P>>;
      for await (const event of pull<BenchEvent>(remote, remote.measure(plan, against), answered)) {
        if (event.type !== 'progress') this.table = withEvent(this.table, event);
        // Every measurement says where it is; only news is drawn.
        else if (event.done !== this.progress?.done || event.what !== this.progress.what)
          this.progress = event;
      }
      this.complete = true;
    } catch (error) {
      if (!stopped) this.error = sentence(error);
    } finally {
      worker.terminate();
      this.#stop = null;
      this.busy = false;
    }
  }

  /** A run began to train in this tab meanwhile: the table says so from now on. */
  disturb(): void {
    const text = 'A run trained in this tab meanwhile: what is measured here is slower than the device is.';
    if (this.table && !this.table.remarks.includes(text))
      this.table = withEvent(this.table, { type: 'remark', text });
  }

  /** Ends the measurement; what was found stays. */
  stop(): void {
    this.#stop?.();
  }
}
