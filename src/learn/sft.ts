import { LabError } from '../base/errors.ts';
import type { Rng } from '../base/rng.ts';
import { pack, type TrainingSequence } from '../policy/batch.ts';
import type { PolicyEngine, StepOptions, StepStats } from '../policy/engine.ts';
import { batches } from './batches.ts';
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
}

/**
 * Supervised fine-tuning: maximises the log-likelihood of the supervised tokens, `L = Σ w·nll / Σ w` over a batch,
 * from step `done` (0, or that of a loaded checkpoint) to `schedule.steps`. Between two reports nothing is read back.
 * Equal seed and data give the same batches, whether or not the run was interrupted.
 * @throws LabError where the loss is no longer a finite number.
 */
export async function* sft(
  engine: PolicyEngine,
  data: readonly TrainingSequence[],
  options: SftOptions,
  rng: Rng,
  done = 0,
): AsyncGenerator<SftReport> {
  const { schedule } = options;
  const source = batches(data, options, rng.fork('batches'));
  for (let skipped = 0; skipped < done; skipped++) source.next();
  for (let step = done; step < schedule.steps; step++) {
    const rate = learningRate(step, schedule);
    const draw = rng.fork('names').fork(step);
    const batch = source.next().value.map((i) => rename(data[i]!, options.names ?? [], draw));
    engine.train(pack(batch), { ...options.optimiser, learningRate: rate });
    const last = step + 1 === schedule.steps;
    if (!last && (step + 1) % options.reportEvery !== 0) continue;
    const stats = await engine.stats();
    const broken = stats.find((s) => !Number.isFinite(s.loss) || !Number.isFinite(s.gradientNorm));
    if (broken)
      throw new LabError(`the loss is ${broken.loss} at step ${broken.step}`, {
        where: 'training',
        remedy: 'lower the learning rate; the last checkpoint is kept',
      });
    yield { stats, learningRate: rate };
  }
}
