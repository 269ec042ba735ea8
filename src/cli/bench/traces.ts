import { type BenchRow, rate, timed } from '../../lab/bench/row.ts';
import { GraphMiner } from '../../task/graph/miner.ts';
import { callsOf } from '../../trace/model.ts';
import { desk } from '../../world/desk/index.ts';

const TRAJECTORIES = 20_000;

/** Mining speed, on traces of `desk` that are already in memory. */
export async function benchTraces(): Promise<BenchRow[]> {
  const corpus = [...desk.corpus({ seed: 1, trajectories: TRAJECTORIES, noviceShare: 0.3 })];
  const calls = corpus.reduce((sum, trajectory) => sum + callsOf(trajectory).length, 0);
  const { milliseconds } = await timed(() => {
    const miner = new GraphMiner();
    for (const trajectory of corpus) miner.add(trajectory);
    return miner.finish();
  });
  return [rate('Traces', 'mining', calls, milliseconds, 'calls/s')];
}
