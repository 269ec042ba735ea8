import type { LabStore } from '../src/store/model.ts';
import { openStore } from '../src/store/open.ts';
import { writeTrajectory } from '../src/trace/formats/lab.ts';
import { callsOf, type Trajectory } from '../src/trace/model.ts';
import { readTraces, type TraceFile } from '../src/trace/read.ts';

/** Larger files are read but not kept: a copy would crowd out the runs. Bytes. */
const MOST_BYTES = 32 * 1024 * 1024;

let store: Promise<LabStore> | undefined;

const opened = () => {
  store ??= openStore();
  return store;
};

/** Keeps the trajectories of trace files in this browser. @returns how many files were kept. */
export async function keepTraces(files: readonly TraceFile[]): Promise<number> {
  const known = new Set((await (await opened()).traces()).records.map((record) => record.path));
  let kept = 0;
  for (const file of files) {
    if (file.size > MOST_BYTES || known.has(file.path)) continue;
    const trajectories: Trajectory[] = [];
    let format = '';
    for await (const event of readTraces(file)) {
      if (event.type === 'format') format = event.format;
      else if (event.type === 'trajectory') trajectories.push(event.trajectory);
    }
    if (trajectories.length === 0) continue;
    const calls = trajectories.reduce((sum, trajectory) => sum + callsOf(trajectory).length, 0);
    const counts = { trajectories: trajectories.length, calls };
    await (await opened()).saveTrace({ path: file.path, format, counts }, trajectories);
    kept += 1;
  }
  return kept;
}

/** Kept traces as files in the lab's own format, so that they are read like any other. */
export async function keptFiles(ids: readonly string[]): Promise<TraceFile[]> {
  const { records } = await (await opened()).traces();
  const chosen = records.filter((record) => ids.includes(record.id));
  return Promise.all(
    chosen.map(async ({ id, path }) => {
      const lines = (await (await opened()).trajectories(id)).map(
        (trajectory) => `${writeTrajectory(trajectory)}\n`,
      );
      const text = new Blob(lines);
      return { path, size: text.size, stream: () => text.stream() };
    }),
  );
}
