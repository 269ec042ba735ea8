import type { GraphLayout } from '../../../workers/layout.ts';
import type { MineEvent } from '../../lab/services.ts';
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
  readonly #services: PageServices;
  #reading = 0;

  constructor(services: PageServices) {
    this.#services = services;
  }

  /** Reads the files; a later call replaces an earlier one that is still under way. */
  async read(files: DroppedFile[]): Promise<void> {
    const turn = ++this.#reading;
    if (files.length === 0) return;
    this.#clear();
    this.state = 'reading';
    const frames = new Frames();
    try {
      for await (const event of this.#services.mine(files)) {
        if (turn !== this.#reading) return;
        this.#add(event);
        await frames.breathe();
      }
      this.state = 'done';
      if (this.graph && this.graph.nodes.length > 0)
        this.layout = await this.#services.layout(this.graph, pictureRoom());
    } catch (error) {
      if (turn !== this.#reading) return;
      this.state = 'failed';
      this.error = sentence(error);
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
