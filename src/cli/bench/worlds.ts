import { type BenchRow, rate, timed } from '../../lab/bench/row.ts';
import { GraphMiner } from '../../task/graph/miner.ts';
import type { Task } from '../../task/model.ts';
import { synthesise } from '../../task/synthesis/synthesise.ts';
import { replay } from '../../task/verify/replay.ts';
import { callsOf } from '../../trace/model.ts';
import { desk } from '../../world/desk/index.ts';

const TRAJECTORIES = 1000;
const TASKS = 2000;

/** How fast worlds execute, tasks are made and tasks are replayed, in `desk` on one thread. */
export async function benchWorlds(): Promise<BenchRow[]> {
  const corpus = await timed(() => [
    ...desk.corpus({ seed: 1, trajectories: TRAJECTORIES, noviceShare: 0.3 }),
  ]);
  const miner = new GraphMiner({ minCount: 3 });
  for (const trajectory of corpus.value) miner.add(trajectory);
  const graph = miner.finish();
  const tasks = await timed(() => {
    const made: Task[] = [];
    for (const event of synthesise(desk, graph, { seed: 'bench', tasks: TASKS }))
      if (event.type === 'task') made.push(event.task);
    return made;
  });
  const verdicts = await timed(() => tasks.value.map((task) => replay(task)));
  const chainCalls = tasks.value.reduce((sum, task) => sum + task.chain.length, 0);
  const raw = await timed(executeAll);
  return [
    rate('Worlds', 'executing in one world', raw.value, raw.milliseconds, 'calls/s'),
    rate(
      'Worlds',
      'expert and novice',
      corpus.value.reduce((sum, t) => sum + callsOf(t).length, 0),
      corpus.milliseconds,
      'calls/s',
    ),
    rate('Worlds', 'tasks from walks', tasks.value.length, tasks.milliseconds, 'tasks/s'),
    rate('Worlds', 'replaying tasks', verdicts.value.length, verdicts.milliseconds, 'tasks/s'),
    rate('Worlds', 'replaying calls', chainCalls, verdicts.milliseconds, 'calls/s'),
  ];
}

/** Reads and writes in turn, each write rolled back. @returns calls executed */
function executeAll(): number {
  const world = desk.create(1);
  const start = world.snapshot();
  const [ticket] = world.ids('ticket');
  const calls = 40_000;
  for (let i = 0; i < calls / 2; i++) {
    world.call('get_ticket', { ticket: ticket ?? '' });
    world.call('set_priority', { ticket: ticket ?? '', priority: i % 2 ? 'P1' : 'P2' });
    world.restore(start);
  }
  return calls;
}
