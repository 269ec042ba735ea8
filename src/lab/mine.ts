import { countSources } from '../task/graph/graph.ts';
import { GraphMiner } from '../task/graph/miner.ts';
import { callsOf } from '../trace/model.ts';
import { readTraces } from '../trace/read.ts';
import type { MineEvent, TraceSource } from './services.ts';

/** Reads trace files one after another and mines one tool graph from all of them. `clock` is in milliseconds. */
export async function* mineFiles(
  files: readonly TraceSource[],
  clock: () => number,
): AsyncGenerator<MineEvent> {
  const began = clock();
  const miner = new GraphMiner();
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  for (const file of files) {
    const row = {
      type: 'file' as const,
      path: file.path,
      format: '',
      trajectories: 0,
      withCalls: 0,
      calls: 0,
      errors: 0,
    };
    const origins = new Set<string>();
    for await (const event of readTraces(file)) {
      if (event.type === 'format') row.format = event.format;
      else if (event.type === 'rejected') yield event;
      else if (event.type === 'progress')
        yield { type: 'progress', stage: 'traces', done: before + event.bytes, total, unit: 'bytes' };
      else {
        const calls = callsOf(event.trajectory);
        row.trajectories++;
        if (calls.length > 0) row.withCalls++;
        row.calls += calls.length;
        row.errors += calls.filter((call) => call.error !== null).length;
        origins.add(event.trajectory.file);
        miner.add(event.trajectory);
      }
    }
    before += file.size;
    if (row.format) yield { ...row, origins: [...origins] };
  }
  const graph = miner.finish();
  yield { type: 'mined', graph, sources: countSources(graph), seconds: (clock() - began) / 1000 };
}
