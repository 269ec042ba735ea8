import { GraphMiner } from '../../src/task/graph/miner.ts';
import type { Task } from '../../src/task/model.ts';
import { synthesise } from '../../src/task/synthesis/synthesise.ts';
import { desk } from '../../src/world/desk/index.ts';

/** Tasks of `desk`, made as the product makes them. */
export function makeTasks(seed: string, tasks: number): Task[] {
  const miner = new GraphMiner({ minCount: 2 });
  for (const trajectory of desk.corpus({ seed: 1, trajectories: 150, noviceShare: 0.3 }))
    miner.add(trajectory);
  const made: Task[] = [];
  for (const event of synthesise(desk, miner.finish(), { seed, tasks }))
    if (event.type === 'task') made.push(event.task);
  return made;
}
