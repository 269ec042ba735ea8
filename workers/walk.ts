import * as Comlink from 'comlink';
import { readCheckpoint, writeCheckpoint } from '../src/lab/checkpointFile.ts';
import { localServices } from '../src/lab/local.ts';
import { carry } from '../src/lab/outcome.ts';
import { methods } from '../src/methods/index.ts';
import type { RunSpec } from '../src/methods/method.ts';
import type { TrainingCheckpoint } from '../src/policy/training.ts';
import type { ToolGraph } from '../src/task/model.ts';
import { ownedBuffers, StreamHost } from './host.ts';
import { keepTraces, keptFiles } from './kept.ts';
import { layoutGraph } from './layout.ts';
import { readRecording } from './recording.ts';

/** Worker `walk`: graphs, walks, candidate tasks; reads a user's own trace files and checkpoints. */
const services = localServices(methods, {
  openPolicy: () => Promise.reject(new Error('policies live in the policy worker')),
  clock: () => performance.now(),
});
const streams = new StreamHost();

interface SentFile {
  path: string;
  file: Blob;
}
const asTraces = (files: SentFile[]) =>
  files.map(({ path, file }) => ({ path, size: file.size, stream: () => file.stream() }));

const api = {
  prepare: (spec: RunSpec) => carry(() => streams.open(services.prepare(spec))),
  mine: (files: SentFile[]) => carry(() => streams.open(services.mine(asTraces(files)))),
  mineKept: (ids: string[]) => carry(async () => streams.open(services.mine(await keptFiles(ids)))),
  keep: (files: SentFile[]) => carry(() => keepTraces(asTraces(files))),
  recording: (address: string) => carry(() => streams.open(readRecording(address))),
  packCheckpoint: async (checkpoint: TrainingCheckpoint) => {
    const outcome = await carry(() => writeCheckpoint(checkpoint));
    return Comlink.transfer(outcome, ownedBuffers(outcome));
  },
  unpackCheckpoint: async (file: Blob) => {
    const outcome = await carry(async () =>
      readCheckpoint(new Uint8Array(await file.arrayBuffer()), methods),
    );
    return Comlink.transfer(outcome, ownedBuffers(outcome));
  },
  layout: (graph: ToolGraph, room: number) => carry(() => layoutGraph(graph, room)),
  next: (id: number) => carry(() => streams.next(id)),
  close: (id: number) => carry(() => streams.close(id)),
};

export type WalkApi = typeof api;
Comlink.expose(api);
