import type { FailureKind } from '../base/errors.ts';
import type {
  LearnEvent,
  LearnResume,
  PrepareEvent,
  RunSpec,
  StageProgress,
  TaskSplit,
} from '../methods/method.ts';
import type { SourceCounts, Task, ToolGraph, Verdict } from '../task/model.ts';
import type { TraceFile } from '../trace/bytes.ts';
import type { Rejection } from '../trace/model.ts';

/** A file that a user dropped, or that the command line opened. */
export type TraceSource = TraceFile;

/** What mining somebody's own trace files tells. */
export type MineEvent =
  | StageProgress
  | {
      type: 'file';
      path: string;
      /** Files that its trajectories name as theirs: itself, or those it was gathered from. */
      origins: string[];
      format: string;
      trajectories: number;
      /** Trajectories with at least one call. */
      withCalls: number;
      /** All calls, meta calls included. */
      calls: number;
      errors: number;
    }
  | { type: 'rejected'; rejection: Rejection }
  | { type: 'mined'; graph: ToolGraph; sources: SourceCounts[]; seconds: number };

/**
 * The three places where work is done. In the page each is a worker; headless they are called directly. Every stream is
 * pulled: not pulling pauses it, returning from it stops it.
 */
export interface Services {
  mine(files: TraceSource[]): AsyncIterable<MineEvent>;
  prepare(spec: RunSpec): AsyncIterable<PrepareEvent>;
  verify(method: string, tasks: Task[]): Promise<Verdict[]>;
  learn(spec: RunSpec, tasks: TaskSplit, resume?: LearnResume): AsyncIterable<LearnEvent>;
}

/** Everything that a run tells, in order. Page and command line draw it; nothing else is known about a run. */
export type RunEvent =
  | PrepareEvent
  | LearnEvent
  | { type: 'verdicts'; verdicts: Verdict[] }
  | {
      type: 'dataset';
      tasks: TaskSplit;
      hash: string;
      /** How many there were, where `tasks` is only a part: in a recording. */
      of?: { train: number; heldOut: number };
    }
  | Recovery
  | { type: 'done'; summary: RunSummary };

/** A failure that the run goes on after, from its last checkpoint. */
export interface Recovery {
  type: 'recovery';
  kind: FailureKind;
  /** The arm under way; '' where none had begun. */
  arm: string;
  /** The last step that was told of, and the one that training goes on from. */
  step: number;
  from: number;
  /** What happened and what follows, in one sentence. */
  text: string;
}

/** What is left of a run when it is over. */
export interface RunSummary {
  /** Metric values by arm, at the end of training. */
  arms: Record<string, Record<string, number>>;
  taskSet: { hash: string; train: number; heldOut: number; rejected: number };
  seconds: number;
}
