import { LabError } from '../base/errors.ts';
import type { Rng } from '../base/rng.ts';
import { pack, type TrainingSequence } from '../policy/batch.ts';
import type { PolicyEngine, StepOptions, StepStats } from '../policy/engine.ts';
import type { DataCursor, StreamCounters, TrainingState } from '../policy/training.ts';
import { batches, START } from './batches.ts';
import { rename } from './renaming.ts';
import { learningRate, type Schedule } from './schedule.ts';

/** Hyperparameters of supervised fine-tuning. */
export interface SftOptions {
  schedule: Schedule;
  /** Most token positions, and most sequences, in a step. */
  tokens: number;
  sequences: number;
  /** AdamW, all but the learning rate. */
  optimiser: Omit<StepOptions, 'learningRate'>;
  /** Steps between two reports: one readback each. */
  reportEvery: number;
  /** Pools of tokens that are names: drawn afresh whenever a sequence is shown. None by default. */
  names?: readonly (readonly number[])[];
}

/** AdamW as the lab uses it for small policies: betas 0.9 and 0.98, no decay, gradient clipped to norm 1. */
export const ADAMW: Omit<StepOptions, 'learningRate'> = {
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0,
  clip: 1,
};

/** Steps since the last report. */
export interface SftReport {
  stats: StepStats[];
  /** Learning rate of the last step. */
  learningRate: number;
  /** What goes into a checkpoint taken now, besides the policy. */
  state: Pick<TrainingState, 'cursor' | 'streams'>;
}

/** Where training goes on. Without a cursor, as in older checkpoints, the batches of `step` steps are drawn to find it. */
export interface SftStart {
  /** Steps done. */
  step: number;
  training?: Pick<TrainingState, 'cursor' | 'streams'>;
}

/**
 * Supervised fine-tuning: maximises the log-likelihood of the supervised tokens, `L = Σ w·nll / Σ w` over a batch,
 * from `start` (nothing done, or where a loaded checkpoint stood) to `schedule.steps`. Between two reports nothing is
 * read back. Equal seed and data give the same batches, whether or not the run was interrupted.
 * @throws LabError where the loss is no longer a finite number, or `start` belongs to other random numbers.
 */
export async function* sft(
  engine: PolicyEngine,
  data: readonly TrainingSequence[],
  options: SftOptions,
  rng: Rng,
  start: SftStart = { step: 0 },
): AsyncGenerator<SftReport> {
  const { schedule } = options;
  const orders = rng.fork('batches');
  const names = rng.fork('names');
  const streamsAt = ({ epoch }: DataCursor, step: number): StreamCounters => ({
    [orders.key]: epoch,
    [names.key]: step,
  });
  if (start.training) checkStreams(start.training.streams, streamsAt(start.training.cursor, start.step));
  const source = batches(data, options, orders, start.training?.cursor ?? START);
  if (!start.training) for (let skipped = 0; skipped < start.step; skipped++) source.next();
  for (let step = start.step; step < schedule.steps; step++) {
    const rate = learningRate(step, schedule);
    const draw = names.fork(step);
    const { indices, next } = source.next().value;
    const batch = indices.map((i) => rename(data[i]!, options.names ?? [], draw));
    engine.train(pack(batch), { ...options.optimiser, learningRate: rate });
    const last = step + 1 === schedule.steps;
    if (!last && (step + 1) % options.reportEvery !== 0) continue;
    const stats = await engine.stats();
    const broken = stats.find((s) => !Number.isFinite(s.loss) || !Number.isFinite(s.gradientNorm));
    if (broken)
      throw new LabError(`the loss is ${broken.loss} at step ${broken.step}`, {
        where: 'training',
        remedy: 'lower the learning rate; the last checkpoint is kept',
        kind: 'not a number',
      });
    yield { stats, learningRate: rate, state: { cursor: next, streams: streamsAt(next, step + 1) } };
  }
}

/** @throws LabError where a checkpoint's streams are not those that this run draws from. */
function checkStreams(found: StreamCounters, wanted: StreamCounters): void {
  for (const [key, counter] of Object.entries(wanted)) {
    if (found[key] === counter) continue;
    const held = found[key] === undefined ? 'has no such stream' : `stands at ${found[key]}`;
    throw new LabError(`the random stream ${key} should stand at ${counter}; the checkpoint ${held}`, {
      where: 'checkpoint',
      remedy: 'go on with the seed and settings that it was trained with, or start anew',
    });
  }
}
