import { LabError } from '../../base/errors.ts';
import type { LabStore, RunRecord } from '../../store/model.ts';
import type { PageServices } from '../services.ts';

type Packer = Pick<PageServices, 'packCheckpoint' | 'unpackCheckpoint'>;

/** The last checkpoint of a stored run as a `.safetensors` file; `null` where it has none. */
export async function packCheckpoint(
  store: LabStore,
  services: Packer,
  { id, arm }: RunRecord,
): Promise<Blob | null> {
  const checkpoint = arm === null ? null : await store.checkpoint(id, arm);
  if (!checkpoint) return null;
  const bytes = await services.packCheckpoint(checkpoint);
  return new Blob([bytes as Uint8Array<ArrayBuffer>], { type: 'application/octet-stream' });
}

/**
 * Stores the run that a checkpoint file belongs to, so that it can go on here.
 * @throws LabError on a damaged file, one of another experiment, and one that does not say its run.
 */
export async function storeCheckpoint(
  store: LabStore,
  services: Packer,
  experiment: string,
  file: Blob,
): Promise<void> {
  const { spec, arm, checkpoint } = await services.unpackCheckpoint(file);
  const { method, preset, config, arms, seed } = spec;
  if (method !== experiment)
    throw new LabError(`The checkpoint belongs to another experiment: ${method}`, {
      where: 'checkpoint file',
      remedy: 'Open that experiment and load it there.',
    });
  const { id } = await store.createRun({ method, preset, config, arms, seed, status: 'stopped' });
  await store.saveCheckpoint(id, arm, checkpoint);
}
