import type { RunSummary } from '../../lab/services.ts';
import type { StageProgress } from '../../methods/method.ts';
import type { Task, ToolGraph, Verdict } from '../../task/model.ts';
import {
  type Curve,
  type DatasetFacts,
  type DeviceFacts,
  type Evaluation,
  Ledger,
  type Walk,
  type WalkCounts,
} from './ledger.ts';

/** Milliseconds between two looks at the ledger: figures change ten times a second, calmly, however fast the run. */
const CALM = 100;

/** What the page shows of a run: a copy of its ledger that changes at a pace for people. */
export class View {
  progress = $state.raw<Ledger['progress']>({});
  stage = $state.raw<StageProgress['stage'] | null>(null);
  graph = $state.raw<ToolGraph | null>(null);
  counts = $state.raw<WalkCounts>({ started: 0, steps: 0, rollbacks: 0, chains: 0, dropped: 0 });
  walks = $state.raw<Walk[]>([]);
  walked = $state.raw<number[]>([]);
  refused = $state.raw<number[]>([]);
  tasks = $state.raw<Task[]>([]);
  verdicts = $state.raw<ReadonlyMap<string, Verdict>>(new Map());
  passed = $state(0);
  judged = $state(0);
  dataset = $state.raw<DatasetFacts | null>(null);
  device = $state.raw<DeviceFacts | null>(null);
  curves = $state.raw<Curve[]>([]);
  evaluations = $state.raw<Evaluation[]>([]);
  finished = $state.raw<string[]>([]);
  summary = $state.raw<RunSummary | null>(null);
  #ledger = new Ledger();
  #last = 0;

  /** Starts over with another ledger. */
  watch(ledger: Ledger): void {
    this.#ledger = ledger;
    this.#copy(() => true);
  }

  /** Copies what changed, unless it did so a moment ago. @param now whether to copy regardless. */
  refresh(now = false): void {
    const time = performance.now();
    if (!now && time - this.#last < CALM) return;
    this.#last = time;
    const changes = this.#ledger.takeChanges();
    if (changes.size > 0) this.#copy((field) => changes.has(field));
  }

  #copy(changed: (field: keyof Ledger) => boolean): void {
    const ledger = this.#ledger;
    if (changed('progress')) this.progress = { ...ledger.progress };
    if (changed('stage')) this.stage = ledger.stage;
    if (changed('graph')) this.graph = ledger.graph;
    if (changed('counts')) this.counts = { ...ledger.counts };
    if (changed('walks')) this.walks = [...ledger.walks];
    if (changed('walked')) this.walked = [...ledger.walked];
    if (changed('refused')) this.refused = [...ledger.refused];
    if (changed('tasks')) this.tasks = [...ledger.tasks];
    if (changed('verdicts')) {
      // A new view on the same map: copying thousands of entries ten times a second would be felt.
      this.verdicts = Object.freeze({
        get: (id: string) => ledger.verdicts.get(id),
        size: ledger.verdicts.size,
      }) as unknown as ReadonlyMap<string, Verdict>;
      this.judged = ledger.verdicts.size;
    }
    if (changed('passed')) this.passed = ledger.passed;
    if (changed('dataset')) this.dataset = ledger.dataset;
    if (changed('device')) this.device = ledger.device;
    if (changed('curves')) this.curves = ledger.curves.map((curve) => ({ ...curve }));
    if (changed('evaluations')) this.evaluations = [...ledger.evaluations];
    if (changed('finished')) this.finished = [...ledger.finished];
    if (changed('summary')) this.summary = ledger.summary;
  }
}
