import type { RunEvent, RunSummary } from '../../lab/services.ts';
import type { Episode, LearnEvent, Rate, StageProgress } from '../../methods/method.ts';
import type { DeviceInfo, PolicyShape } from '../../policy/engine.ts';
import type { Task, ToolGraph, Verdict, WalkMove } from '../../task/model.ts';

/** A walk that is over, move by move. */
export interface Walk {
  id: number;
  moves: WalkMove[];
}

/** What the walks did so far. `walked` and `refused` count moves by edge of the graph. */
export interface WalkCounts {
  started: number;
  steps: number;
  rollbacks: number;
  chains: number;
  dropped: number;
}

/** Training of one arm, a value a step. */
export interface Curve {
  arm: string;
  steps: number[];
  loss: number[];
  tokensPerSecond: number;
}

export interface Evaluation {
  arm: string;
  step: number;
  success: Rate;
  metrics: Record<string, number>;
  episodes: Episode[];
}

export interface DatasetFacts {
  hash: string;
  train: number;
  heldOut: number;
}

export interface DeviceFacts {
  device: DeviceInfo;
  shape: PolicyShape;
  parameters: number;
}

/** Walks kept for looking at; older ones are only counted. */
const KEPT_WALKS = 40;

/** What has been told of a run so far, added up event by event. Plain data behind one method; knows no page. */
export class Ledger {
  progress: Partial<Record<StageProgress['stage'], StageProgress>> = {};
  stage: StageProgress['stage'] | null = null;
  graph: ToolGraph | null = null;
  counts: WalkCounts = { started: 0, steps: 0, rollbacks: 0, chains: 0, dropped: 0 };
  walks: Walk[] = [];
  walked: number[] = [];
  refused: number[] = [];
  tasks: Task[] = [];
  verdicts = new Map<string, Verdict>();
  passed = 0;
  dataset: DatasetFacts | null = null;
  device: DeviceFacts | null = null;
  curves: Curve[] = [];
  evaluations: Evaluation[] = [];
  finished: string[] = [];
  summary: RunSummary | null = null;
  /** Names of the fields that changed since `takeChanges`. */
  #changed = new Set<keyof Ledger>();
  #open = new Map<number, WalkMove[]>();

  /** Adds one event. */
  add(event: RunEvent): void {
    switch (event.type) {
      case 'progress':
        this.progress[event.stage] = event;
        this.stage = event.stage;
        this.#touch('progress', 'stage');
        return;
      case 'graph':
        this.graph = event.graph;
        this.walked = event.graph.edges.map(() => 0);
        this.refused = event.graph.edges.map(() => 0);
        this.#touch('graph', 'walked', 'refused');
        return;
      case 'moves':
        for (const move of event.moves) this.#move(move);
        this.#touch('counts', 'walks', 'walked', 'refused');
        return;
      case 'tasks':
        this.tasks.push(...event.tasks);
        this.#touch('tasks');
        return;
      case 'verdicts':
        for (const verdict of event.verdicts) {
          if (verdict.passed && !this.verdicts.has(verdict.task)) this.passed += 1;
          this.verdicts.set(verdict.task, verdict);
        }
        this.#touch('verdicts', 'passed');
        return;
      case 'dataset':
        this.dataset = {
          hash: event.hash,
          train: event.of?.train ?? event.tasks.train.length,
          heldOut: event.of?.heldOut ?? event.tasks.heldOut.length,
        };
        if (this.tasks.length === 0) this.#restore([...event.tasks.train, ...event.tasks.heldOut]);
        this.#touch('dataset');
        return;
      case 'done':
        this.summary = event.summary;
        this.stage = null;
        this.#touch('summary', 'stage');
        return;
      case 'checkpoint':
      case 'recovery':
        return;
      default:
        this.#learn(event);
        return;
    }
  }

  /** The fields that changed since the last call. */
  takeChanges(): ReadonlySet<keyof Ledger> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #learn(event: Exclude<LearnEvent, { type: 'progress' | 'checkpoint' }>): void {
    if (event.type === 'device') {
      this.device = { device: event.device, shape: event.shape, parameters: event.parameters };
      this.#touch('device');
      return;
    }
    if (event.type === 'arm') {
      if (!this.finished.includes(event.arm)) this.finished.push(event.arm);
      this.#touch('finished');
      return;
    }
    if (event.type === 'evaluation') {
      const { arm, step, success, metrics, episodes } = event;
      // A resumed run repeats the evaluation of the step it resumes from: the later one stands.
      this.evaluations = this.evaluations.filter((other) => other.arm !== arm || other.step !== step);
      this.evaluations.push({ arm, step, success, metrics, episodes });
      this.#touch('evaluations');
      return;
    }
    let curve = this.curves.find(({ arm }) => arm === event.arm);
    if (!curve) {
      curve = { arm: event.arm, steps: [], loss: [], tokensPerSecond: 0 };
      this.curves.push(curve);
    }
    const first = event.stats[0]?.step ?? Number.POSITIVE_INFINITY;
    while (curve.steps.length > 0 && (curve.steps.at(-1) as number) >= first) {
      curve.steps.pop();
      curve.loss.pop();
    }
    for (const { step, loss } of event.stats) {
      curve.steps.push(step);
      curve.loss.push(loss);
    }
    curve.tokensPerSecond = event.tokensPerSecond;
    this.#touch('curves');
  }

  #move(move: WalkMove): void {
    if (move.type === 'start') {
      this.counts.started += 1;
      this.#open.set(move.walk, [move]);
      return;
    }
    const moves = this.#open.get(move.walk);
    moves?.push(move);
    if (move.type === 'step') {
      this.counts.steps += 1;
      this.walked[move.edge] = (this.walked[move.edge] ?? 0) + 1;
    } else if (move.type === 'rollback') {
      this.counts.rollbacks += 1;
      this.refused[move.edge] = (this.refused[move.edge] ?? 0) + 1;
    } else {
      if (move.type === 'chain') this.counts.chains += 1;
      else this.counts.dropped += 1;
      this.#open.delete(move.walk);
      if (moves) this.walks.push({ id: move.walk, moves });
      if (this.walks.length > KEPT_WALKS) this.walks.splice(0, this.walks.length - KEPT_WALKS);
    }
  }

  /** Tasks of an earlier sitting: all of them passed the gate then. */
  #restore(tasks: Task[]): void {
    this.tasks = tasks;
    for (const { id } of tasks) this.verdicts.set(id, { task: id, passed: true, failures: [] });
    this.passed = tasks.length;
    this.#touch('tasks', 'verdicts', 'passed');
  }

  #touch(...fields: (keyof Ledger)[]): void {
    for (const field of fields) this.#changed.add(field);
  }
}
