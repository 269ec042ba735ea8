import type { Episode } from '../learn/describe.ts';
import type { Rate } from '../learn/rate.ts';
import type { DeviceInfo, PolicyEngine, PolicyShape, StepStats } from '../policy/engine.ts';
import type { TrainingCheckpoint } from '../policy/training.ts';
import type { Task, ToolGraph, Verdict, WalkMove } from '../task/model.ts';
import type { Trajectory } from '../trace/model.ts';

export type { Episode, Rate };

/** A value of a control. Configurations are flat and plain, so that they travel in links and compare by key. */
export type ConfigValue = number | string;
export type Config = Record<string, ConfigValue>;

/** One control of an experiment: its type, bounds and meaning. Page, command line and links all read it. */
export type Control = {
  key: string;
  label: string;
  /** One sentence: what it does and what to expect from turning it. */
  help: string;
  /** Heading under which the page shows it. */
  group: string;
  /** What the paper used, where it says so. */
  paper?: string;
} & (
  | { kind: 'integer' | 'number'; unit: string; min: number; max: number; step: number }
  | { kind: 'choice'; choices: { value: string; label: string }[] }
);

export type PresetId = 'micro' | 'laptop' | 'full';

/** One arm of an experiment: differs from the others in one thing. */
export interface Arm {
  id: string;
  title: string;
  description: string;
}

/** A number that is measured for each arm. */
export interface MetricSpec {
  id: string;
  title: string;
  unit: string;
  /** Rates lie in [0, 1]. */
  rate: boolean;
  higherIsBetter: boolean;
}

/** A claim of the paper, to be tested with statistics. */
export interface ClaimSpec {
  id: string;
  statement: string;
  /** The paper's own figure, with its place. */
  paper: string;
  status: 'planned' | 'testable';
}

/** What one run is: everything that decides its result, given the device. */
export interface RunSpec {
  method: string;
  preset: PresetId;
  config: Config;
  arms: string[];
  seed: number;
}

/** Progress of a named stage; `total` 0 = unknown. */
export interface StageProgress {
  type: 'progress';
  stage: 'traces' | 'graph' | 'walk' | 'verify' | 'train' | 'evaluate';
  /** Which arm, where the stage belongs to one. */
  arm?: string;
  done: number;
  total: number;
  unit: string;
}

/** What making the tasks tells, in order: progress, the graph, walks and candidate tasks in batches. */
export type PrepareEvent =
  | StageProgress
  | { type: 'graph'; graph: ToolGraph }
  | { type: 'moves'; moves: WalkMove[] }
  | { type: 'tasks'; tasks: Task[] };

/** What training and evaluation tell. */
export type LearnEvent =
  | StageProgress
  | { type: 'device'; device: DeviceInfo; shape: PolicyShape; parameters: number }
  | { type: 'steps'; arm: string; stats: StepStats[]; learningRate: number; tokensPerSecond: number }
  | {
      type: 'evaluation';
      arm: string;
      step: number;
      success: Rate;
      metrics: Record<string, number>;
      episodes: Episode[];
    }
  | { type: 'checkpoint'; arm: string; checkpoint: TrainingCheckpoint }
  | { type: 'arm'; arm: string; step: number };

/** Verified tasks, split so that no task and no world occurs on both sides. */
export interface TaskSplit {
  train: Task[];
  heldOut: Task[];
}

/** Where a learner stood: arms already finished, and the checkpoint of the one under way where there is one. */
export interface LearnResume {
  finished: string[];
  arm?: string;
  checkpoint?: TrainingCheckpoint;
}

/** What a learner is given besides its tasks. */
export interface LearnContext {
  /** Opens a policy on the best device there is, a new one where the last was lost; the caller destroys what it opened. */
  openPolicy(shape: PolicyShape, capacity: number): Promise<PolicyEngine>;
  /** Milliseconds, for rates only: no result depends on it. */
  clock(): number;
  resume?: LearnResume;
}

/** The policy that a run trains, as it is known before there are tasks. */
export interface Student {
  shape: PolicyShape;
  /** Most tokens in a batch. */
  capacity: number;
  /** Rollouts decoded together. */
  rollouts: number;
}

/** A published method, made runnable. Pages, charts, links, storage and headless runs all come from this. */
export interface Method {
  id: string;
  title: string;
  /** One sentence: the question that the experiment answers. */
  question: string;
  source: { title: string; authors: string; date: string };
  /** The lesson, in Markdown with TeX between dollar signs. */
  lesson: string;
  world: string;
  controls: Control[];
  presets: Partial<Record<PresetId, Config>>;
  arms: Arm[];
  metrics: MetricSpec[];
  claims: ClaimSpec[];
  /** The policy that a run of this configuration trains: what its memory is planned from. Absent where none is known before. */
  student?(spec: RunSpec): Student;
  /** Makes candidate tasks (worker `walk`). `traces` replaces the bundled corpus where given. */
  prepare(spec: RunSpec, traces?: Iterable<Trajectory>): Generator<PrepareEvent>;
  /** The replay gate (worker `verify`). */
  verify(tasks: readonly Task[]): Verdict[];
  /** Splits what passed into training and held-out tasks. */
  split(spec: RunSpec, passed: readonly Task[]): TaskSplit;
  /** Trains and evaluates the arms (worker `policy`). */
  learn(spec: RunSpec, tasks: TaskSplit, context: LearnContext): AsyncGenerator<LearnEvent>;
}
