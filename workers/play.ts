import * as Comlink from 'comlink';
import { carry } from '../src/lab/outcome.ts';
import { type PlayRequest, playPolicy, policyFile } from '../src/lab/play.ts';
import type { Checkpoint } from '../src/policy/engine.ts';
import { openPolicy } from './engine.ts';
import { StreamHost } from './host.ts';
import { loadRuntime } from './runtime.ts';

/** Worker `play`: runs ONNX models. It starts when the reader asks for one. */
const streams = new StreamHost();
const place = { loadRuntime, openPolicy, clock: () => performance.now() };

const api = {
  play: (request: PlayRequest) => carry(() => streams.open(playPolicy(request, place))),
  next: (id: number) => carry(() => streams.next(id)),
  close: (id: number) => carry(() => streams.close(id)),
  /** The policy as an ONNX file. */
  file: async (world: string, checkpoint: Checkpoint) => {
    const outcome = await carry(() => policyFile(world, checkpoint));
    return outcome.ok ? Comlink.transfer(outcome, [outcome.value.buffer]) : outcome;
  },
};

export type PlayApi = typeof api;
Comlink.expose(api);
