import type { Checkpoint } from '../../policy/engine.ts';
import type { LabStore } from '../../store/model.ts';
import type { Task } from '../../task/model.ts';

/** What can be played of a stored run. */
export interface Playable {
  arm: string;
  checkpoint: Checkpoint;
  /** Unseen tasks; empty where the run has not made any yet. */
  tasks: Task[];
}

/** The last checkpoint of a run and its unseen tasks; `null` where it has no checkpoint. */
export async function readPlayable(store: LabStore, id: string): Promise<Playable | null> {
  const { arm, datasetId } = await store.run(id);
  const checkpoint = arm === null ? null : await store.checkpoint(id, arm);
  if (arm === null || !checkpoint) return null;
  if (datasetId === null) return { arm, checkpoint, tasks: [] };
  const [{ counts }, tasks] = await Promise.all([store.dataset(datasetId), store.tasks(datasetId)]);
  return { arm, checkpoint, tasks: tasks.slice(counts.train ?? 0) as unknown as Task[] };
}
