import type { DeviceChoice, DeviceProbe } from '../../workers/engine.ts';
import type { GraphLayout } from '../../workers/layout.ts';
import { LabError } from '../base/errors.ts';
import { decodeLink } from '../lab/link.ts';
import { runExperiment } from '../lab/run.ts';
import type { RunEvent } from '../lab/services.ts';
import type { Method, RunSpec } from '../methods/method.ts';
import type { LabStore, Restore, RunRecord } from '../store/model.ts';
import { keepChoice, storedChoice } from './bench/device.ts';
import { Draft } from './bench/draft.svelte.ts';
import { pictureRoom } from './graph/geometry.ts';
import { pickWalk, WalkPlayer } from './graph/walk-player.svelte.ts';
import { type Playable, readPlayable } from './play/playable.ts';
import { away } from './run/away.ts';
import { packCheckpoint, storeCheckpoint } from './run/checkpoints.ts';
import { WorkClock } from './run/clock.ts';
import { Frames } from './run/frames.ts';
import { Gate } from './run/gate.ts';
import { HiddenTab } from './run/hidden.ts';
import { after, Keeper, readRun, type StoredRun } from './run/keeper.ts';
import { Ledger } from './run/ledger.ts';
import { holdRun } from './run/lock.ts';
import { logLine } from './run/log.ts';
import { Pace } from './run/pace.ts';
import { View } from './run/view.svelte.ts';
import type { PageServices } from './services.ts';
import { sentence } from './words.ts';

export type Phase = 'idle' | 'running' | 'paused' | 'stopping' | 'stopped' | 'done' | 'failed';

/** Whose run is on the page. */
export type Source =
  | { kind: 'none' }
  | { kind: 'recorded'; date: string; device: string }
  | { kind: 'own'; id: string | null; date: string };

/** Lines of the log that are kept on the page. */
const LOG_LINES = 400;
/** Milliseconds in which a recorded run is played. */
const RECORDED_MILLISECONDS = 24_000;

export interface LogLine {
  /** Milliseconds since 1970; null where a stored or recorded run is told again and its times are not known. */
  time: number | null;
  text: string;
}

/** One experiment on one page: its configuration, the run on show, and what can be done with it. */
export class Session {
  readonly method: Method;
  readonly draft: Draft;
  readonly view = new View();
  readonly player: WalkPlayer;
  phase = $state<Phase>('idle');
  source = $state.raw<Source>({ kind: 'none' });
  /** Configuration of the run on show. */
  spec = $state.raw<RunSpec | null>(null);
  error = $state<string | null>(null);
  /** What is wrong with the link that the page was opened with. */
  linkError = $state<string | null>(null);
  /** What happened to the run under way that its reader should know of, in one sentence. */
  news = $state('');
  left = $state.raw<number | null>(null);
  log = $state.raw<LogLine[]>([]);
  layout = $state.raw<GraphLayout | null>(null);
  runs = $state.raw<RunRecord[]>([]);
  unreadable = $state(0);
  device = $state.raw<DeviceProbe | null>(null);
  deviceChoice = $state<DeviceChoice>(storedChoice());
  notice = $state('');
  readonly #services: PageServices;
  readonly #store: LabStore;
  readonly #gate = new Gate();
  #clock = new WorkClock();
  #pace = new Pace();
  #ledger = new Ledger();
  #keeper: Keeper | null = null;
  #stop = false;
  /** Counts what is shown: whoever started showing something else has taken the page over. */
  #turn = 0;
  readonly #hidden = new HiddenTab();
  /** Telling again what happened before. */
  #retelling = false;

  constructor(method: Method, services: PageServices, store: LabStore) {
    this.method = method;
    this.#services = services;
    this.#store = store;
    this.notice = store.notice;
    this.draft = new Draft(method);
    this.player = new WalkPlayer(() => pickWalk(this.view.walks, this.player.walk));
  }

  /** A run of the reader's own that is shown as it was stored. */
  get stored(): boolean {
    return this.source.kind === 'own' && !this.busy && this.view.counts.started === 0;
  }

  get busy(): boolean {
    return this.phase === 'running' || this.phase === 'paused' || this.phase === 'stopping';
  }

  /** Reads the stored runs, asks where policies will run, and shows something at once: the last run, or a recorded one. */
  async open(recording: string): Promise<void> {
    await this.refreshRuns();
    const probe = this.chooseDevice(this.deviceChoice);
    const newest = this.runs[0];
    if (!this.busy && newest) await this.show(newest.id);
    else if (!this.busy) await this.#playRecording(recording);
    await probe;
  }

  /** Says what policies are to train on, from the next run on. */
  async chooseDevice(choice: DeviceChoice): Promise<void> {
    if (choice !== this.deviceChoice) keepChoice(choice);
    this.deviceChoice = choice;
    try {
      this.device = await this.#services.choose(choice);
    } catch (error) {
      this.#say(sentence(error));
    }
  }

  /** Takes the configuration from a link's fragment. @returns whether the link asks to start at once. */
  async takeLink(fragment: string): Promise<boolean> {
    this.linkError = null;
    if (fragment.length < 2) return false;
    try {
      const linked = await decodeLink(fragment, [this.method]);
      this.draft.load(linked);
      return linked.autorun && !this.busy;
    } catch (error) {
      this.linkError = sentence(error);
      return false;
    }
  }

  /** Starts the run that stands on the bench. */
  async run(): Promise<void> {
    if (this.busy || !this.draft.valid) return;
    const { spec } = this.draft;
    void this.#store.persist();
    await this.#drive(spec, null);
  }

  /** Goes on with a stored run from its last checkpoint; from the start where it had none. */
  async resume(id: string): Promise<void> {
    if (this.busy) return;
    try {
      const stored = await readRun(this.#store, id);
      this.draft.load(stored.spec);
      await this.#drive(stored.spec, stored);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Shows a stored run without going on with it. */
  async show(id: string): Promise<void> {
    if (this.busy) return;
    try {
      const { record, spec, events } = await readRun(this.#store, id);
      const turn = this.#begin(spec, { kind: 'own', id, date: record.createdAt });
      await this.#replay(events, turn);
      if (turn === this.#turn) this.phase = record.status === 'done' ? 'done' : 'stopped';
    } catch (error) {
      this.#fail(error);
    }
  }

  pause(): void {
    if (this.phase !== 'running') return;
    this.phase = 'paused';
    this.#gate.close();
    this.#clock.hold();
    void this.#status('paused');
  }

  unpause(): void {
    if (this.phase !== 'paused') return;
    this.phase = 'running';
    this.#clock.release();
    this.#gate.open();
    void this.#status('running');
  }

  /** While paused: takes the next piece of news and no more. */
  step(): void {
    if (this.phase === 'paused') this.#gate.step();
  }

  stop(): void {
    if (!this.busy) return;
    this.#stop = true;
    this.phase = 'stopping';
    this.#gate.open();
  }

  /** A worker broke down: its answer will never come, so the run cannot go on by itself. */
  broken(error: LabError): void {
    this.#turn += 1;
    void this.#status('stopped');
    this.#fail(error);
  }

  /** Deletes a stored run. @returns what brings it back. */
  async remove(id: string): Promise<Restore> {
    const release = await this.#hold(id);
    const restore = await this.#store.deleteRun(id).finally(release);
    await this.refreshRuns();
    return async () => {
      await restore();
      await this.refreshRuns();
    };
  }

  /** What can be played of a stored run; `null` where it has no checkpoint. */
  playable(id: string): Promise<Playable | null> {
    return readPlayable(this.#store, id);
  }

  /** Everything kept of a run, as JSON text. */
  async exportRun(id: string): Promise<Blob> {
    const { record, events } = await readRun(this.#store, id);
    return new Blob([JSON.stringify({ run: record, events }, null, 1)], { type: 'application/json' });
  }

  /** The last checkpoint of a stored run as a `.safetensors` file; `null` where it has none. */
  exportCheckpoint(run: RunRecord): Promise<Blob | null> {
    return packCheckpoint(this.#store, this.#services, run);
  }

  /** Stores the run that a checkpoint file belongs to, so that it can go on here. @throws LabError on a file that is none. */
  async importCheckpoint(file: Blob): Promise<void> {
    await storeCheckpoint(this.#store, this.#services, this.method.id, file);
    await this.refreshRuns();
  }

  async refreshRuns(): Promise<void> {
    const { records, unreadable } = await this.#store.runs();
    this.runs = records.filter((record) => record.method === this.method.id);
    this.unreadable = unreadable.length;
    this.notice = this.#store.notice;
  }

  /** The tab was hidden or shown again: afterwards the log says what happened meanwhile. */
  visibility(hidden: boolean): void {
    const step = () => this.view.progress.train?.done ?? 0;
    if (hidden) {
      this.#hidden.hide(step());
      return;
    }
    const words = this.#hidden.show();
    if (!words || this.phase !== 'running') return;
    this.view.refresh(true);
    this.#say(words(step()));
  }

  async #drive(spec: RunSpec, stored: StoredRun | null): Promise<void> {
    const turn = this.#begin(spec, {
      kind: 'own',
      id: stored?.record.id ?? null,
      date: new Date().toISOString(),
    });
    this.phase = 'running';
    this.#stop = false;
    this.#gate.open();
    this.#clock = new WorkClock();
    const ledger = this.#ledger;
    let release: (() => void) | null = null;
    try {
      if (stored)
        await this.#replay(
          stored.events.filter((event) => event.type !== 'done' && !after(event, stored)),
          turn,
        );
      if (stored) release = await this.#hold(stored.record.id);
      this.#keeper = stored ? await Keeper.again(this.#store, stored) : await Keeper.begin(this.#store, spec);
      const keeper = this.#keeper;
      release ??= await this.#hold(keeper.id);
      this.source = { kind: 'own', id: keeper.id, date: new Date().toISOString() };
      this.#say(stored ? 'Resumed.' : 'Started.');
      await this.refreshRuns();
      const options = {
        clock: () => this.#clock.now(),
        away,
        ...(stored?.resume ? { resume: stored.resume } : {}),
        ...(stored ? { from: stored.from } : {}),
      };
      const frames = new Frames();
      for await (const event of runExperiment(this.method, spec, this.#services, options)) {
        await this.#gate.pass();
        if (this.#stop || turn !== this.#turn) break;
        await keeper.add(event);
        this.#take(event, ledger);
        this.view.refresh(!this.#gate.isOpen);
        await frames.breathe();
      }
      if (turn !== this.#turn) return;
      this.view.refresh(true);
      this.phase = this.#stop ? 'stopped' : 'done';
      if (this.#stop) {
        await keeper.status('stopped');
        this.#say('Stopped. It can be resumed from its last checkpoint.');
      }
    } catch (error) {
      if (turn !== this.#turn) return;
      await this.#status('failed', sentence(error));
      this.#fail(error);
    } finally {
      release?.();
      this.left = null;
      await this.refreshRuns();
    }
  }

  async #hold(id: string): Promise<() => void> {
    const release = await holdRun(id);
    if (release) return release;
    throw new LabError('This run is under way in another tab', {
      remedy: 'Watch it there, or stop it there first.',
    });
  }

  /** Clears the page for another run. */
  #begin(spec: RunSpec, source: Source): number {
    this.#turn += 1;
    this.spec = spec;
    this.source = source;
    this.error = null;
    this.news = '';
    this.log = [];
    this.layout = null;
    this.left = null;
    this.#pace = new Pace();
    this.#ledger = new Ledger();
    this.#keeper = null;
    this.view.watch(this.#ledger);
    this.player.clear();
    return this.#turn;
  }

  #take(event: RunEvent, ledger: Ledger): void {
    ledger.add(event);
    const line = logLine(event, (arm) => this.method.arms.find((one) => one.id === arm)?.title ?? arm);
    if (line) this.#say(line);
    if (event.type === 'recovery' && !this.#retelling) this.news = event.text;
    if (event.type === 'progress') {
      this.#pace.note(`${event.stage}/${event.arm ?? ''}`, event.done, this.#clock.now() / 1000);
      this.left = this.#pace.left(event.total);
    }
    if (event.type === 'graph') void this.#draw(event.graph, this.#turn);
  }

  #retell(event: RunEvent): void {
    this.#retelling = true;
    this.#take(event, this.#ledger);
    this.#retelling = false;
  }

  async #draw(graph: Extract<RunEvent, { type: 'graph' }>['graph'], turn: number): Promise<void> {
    const layout = await this.#services.layout(graph, pictureRoom());
    if (turn === this.#turn) this.layout = layout;
  }

  /** Shows events that happened before, as fast as the page can take them. */
  async #replay(events: readonly RunEvent[], turn: number): Promise<void> {
    const frames = new Frames();
    for (const event of events) {
      if (turn !== this.#turn) return;
      this.#retell(event);
      await frames.breathe();
    }
    this.left = null;
    this.view.refresh(true);
  }

  async #playRecording(address: string): Promise<void> {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    let turn = 0;
    let total = 1;
    let played = 0;
    const began = performance.now();
    for await (const item of this.#services.recording(address)) {
      if (this.busy || (turn !== 0 && turn !== this.#turn)) return;
      if (item.type === 'recording') {
        total = Math.max(1, item.events);
        turn = this.#begin(item.spec, { kind: 'recorded', date: item.date, device: item.device });
        continue;
      }
      this.#retell(item);
      this.left = null;
      this.view.refresh();
      played += 1;
      const due = began + (RECORDED_MILLISECONDS * played) / total - performance.now();
      if (!still && due > 4) await new Promise((resolve) => setTimeout(resolve, due));
    }
    if (turn === this.#turn) this.view.refresh(true);
  }

  async #status(
    status: 'running' | 'paused' | 'stopped' | 'failed',
    error: string | null = null,
  ): Promise<void> {
    try {
      await this.#keeper?.status(status, error);
    } catch (failure) {
      this.notice = sentence(failure);
    }
  }

  #fail(error: unknown): void {
    this.phase = 'failed';
    this.error = sentence(error);
    this.#say(this.error);
  }

  #say(text: string): void {
    const time = this.#retelling ? null : Date.now();
    this.log = [...this.log.slice(1 - LOG_LINES), { time, text }];
  }
}
