import { LabError } from '../base/errors.ts';
import type { Method, RunSpec } from '../methods/method.ts';
import { readSafetensors, writeSafetensors } from '../policy/safetensors.ts';
import type { TrainingCheckpoint } from '../policy/training.ts';
import { checkSpec } from './config.ts';

/** A checkpoint with the run that it belongs to. */
export interface PortableCheckpoint {
  spec: RunSpec;
  /** The arm under way. */
  arm: string;
  checkpoint: TrainingCheckpoint;
}

/** A checkpoint as a `.safetensors` file, from which its run can go on anywhere. */
export const writeCheckpoint = (checkpoint: TrainingCheckpoint): Uint8Array => writeSafetensors(checkpoint);

/**
 * Reads a file that a run can go on from.
 * @throws LabError on a damaged file, one that does not say which run it belongs to, and a run of no known method.
 */
export function readCheckpoint(bytes: Uint8Array, methods: readonly Method[]): PortableCheckpoint {
  const checkpoint = readSafetensors(bytes);
  const run = checkpoint.training?.run;
  if (!run)
    throw new LabError('the file does not say which run it belongs to', {
      where: '__metadata__.run',
      remedy: 'go on with it from its run folder, on the command line, or choose a checkpoint of a newer lab',
    });
  const method = methods.find(({ id }) => id === run.method);
  if (!method)
    throw new LabError(`the file belongs to a method that this lab does not know: ${run.method}`, {
      where: '__metadata__.run',
      remedy: 'use the lab that wrote it, or a newer one',
    });
  return { spec: checkSpec(method, run), arm: run.arm, checkpoint };
}
