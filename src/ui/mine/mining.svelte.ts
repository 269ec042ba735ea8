import type { GraphLayout } from '../../../workers/layout.ts';
import type { MineEvent } from '../../lab/services.ts';
import type { LabStore, Restore, TraceRecord } from '../../store/model.ts';
import type { SourceCounts, ToolGraph } from '../../task/model.ts';
import type { Rejection } from '../../trace/model.ts';
import { pictureRoom } from '../graph/geometry.ts';
import { Frames } from '../run/frames.ts';
import type { DroppedFile, PageServices } from '../services.ts';
import { sentence } from '../words.ts';

export type FileRow = Extract<MineEvent, { type: 'file' }>;

/** Rejections listed; further ones are counted. */
const LISTED = 200;

/** What became of trace files that the reader dropped: rows by file, rejections, a graph. */
export class Mining {
  state = $state<'idle' | 'reading' | 'done' | 'failed'>('idle');
  progress = $state.raw<{ done: number; total: number }>({ done: 0, total: 0 });
  files = $state.raw<FileRow[]>([]);
  rejections = $state.raw<Rejection[]>([]);
  rejected = $state(0);
  graph = $state.raw<ToolGraph | null>(null);
  layout = $state.raw<GraphLayout | null>(null);
  sources = $state.raw<SourceCounts[]>([]);
  seconds = $state(0);
  error = $state<string | null>(null);
  /** Trace files kept from earlier. */
  kept = $state.raw<TraceRecord[]>([]);
  readonly #services: PageServices;
  readonly #store: LabStore;
  #reading = 0;

  constructor(services: PageServices, store: LabStore) {
    this.#services = services;
    this.#store = store;
  }

  async refreshKept(): Promise<void> {
    this.kept = (await this.#store.traces()).records;
  }

  /** Mines everything that is kept. */
  async readKept(): Promise<void> {
    await this.#consume(this.#services.mineKept(this.kept.map((record) => record.id)));
  }

  /** Deletes a kept file. @returns what brings it back. */
  async forget(id: string): Promise<Restore> {
    const restore = await this.#store.deleteTrace(id);
    await this.refreshKept();
    return async () => {
      await restore();
      await this.refreshKept();
    };
  }

  /** Reads the files and keeps them; a later call replaces an earlier one that is still under way. */
  async read(files: DroppedFile[]): Promise<void> {
    if (files.length === 0) return;
    if (!(await this.#consume(this.#services.mine(files)))) return;
    try {
      await this.#services.keep(files);
      await this.refreshKept();
    } catch (error) {
      this.error = sentence(error);
    }
  }

  /** @returns whether the stream was read to its end. */
  async #consume(events: AsyncIterable<MineEvent>): Promise<boolean> {
    this.#reading += 1;
    const turn = this.#reading;
    this.#clear();
    this.state = 'reading';
    const frames = new Frames();
    try {
      for await (const event of events) {
        if (turn !== this.#reading) return false;
        this.#add(event);
        await frames.breathe();
      }
      this.state = 'done';
      if (this.graph && this.graph.nodes.length > 0)
        this.layout = await this.#services.layout(this.graph, pictureRoom());
      return true;
    } catch (error) {
      if (turn === this.#reading) {
        this.state = 'failed';
        this.error = sentence(error);
      }
      return false;
    }
  }

  #clear(): void {
    this.progress = { done: 0, total: 0 };
    this.files = [];
    this.rejections = [];
    this.rejected = 0;
    this.graph = null;
    this.layout = null;
    this.sources = [];
    this.error = null;
  }

  #add(event: MineEvent): void {
    if (event.type === 'progress') this.progress = { done: event.done, total: event.total };
    else if (event.type === 'file') this.files = [...this.files, event];
    else if (event.type === 'rejected') {
      this.rejected += 1;
      if (this.rejected <= LISTED) this.rejections = [...this.rejections, event.rejection];
    } else {
      this.graph = event.graph;
      this.sources = event.sources;
      this.seconds = event.seconds;
    }
  }
}
