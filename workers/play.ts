import * as Comlink from 'comlink';
import { carry } from '../src/lab/outcome.ts';
import { type PlayRequest, playPolicy, policyFile } from '../src/lab/play.ts';
import { teacherFor } from '../src/lab/teach.ts';
import type { Checkpoint, PolicyShape } from '../src/policy/engine.ts';
import type { OnnxProvider } from '../src/policy/onnx/lm.ts';
import { openPolicy } from './engine.ts';
import { StreamHost } from './host.ts';
import { loadRuntime } from './runtime.ts';

/** Worker `play`: runs ONNX models. It starts when the reader asks for one. */
const streams = new StreamHost();
/** The engine to compare with runs where the model does. */
const placeOf = (provider: OnnxProvider) => ({
  loadRuntime,
  openPolicy: (shape: PolicyShape, capacity: number) =>
    openPolicy(provider === 'webgpu' ? 'webgpu' : 'cpu', shape, capacity),
  clock: () => performance.now(),
});

/** Ends when the model in use is no longer: the runtime computes one at a time. */
let free: Promise<void> = Promise.resolve();

/** Waits for the runtime. @returns what lets go of it. */
async function takeRuntime(): Promise<() => void> {
  const before = free;
  let release = () => {};
  free = new Promise((resolve) => {
    release = resolve;
  });
  await before;
  return release;
}

async function* play(request: PlayRequest): ReturnType<typeof playPolicy> {
  const release = await takeRuntime();
  try {
    yield* playPolicy(request, placeOf(request.provider));
  } finally {
    release();
  }
}

const api = {
  play: (request: PlayRequest) => carry(() => streams.open(play(request))),
  next: (id: number) => carry(() => streams.next(id)),
  close: (id: number) => carry(() => streams.close(id)),
  /** The policy as an ONNX file. */
  file: async (world: string, checkpoint: Checkpoint) => {
    const outcome = await carry(() => policyFile(world, checkpoint));
    return outcome.ok ? Comlink.transfer(outcome, [outcome.value.buffer]) : outcome;
  },
  /** What a file is as a teacher. It is read as data, on the processor, and let go. */
  teacher: (world: string, model: Blob, tokenizer: Blob | null) =>
    carry(async () => {
      const release = await takeRuntime();
      try {
        const teacher = await teacherFor(world, { model, tokenizer }, await loadRuntime('wasm'), 'wasm');
        await teacher.destroy();
        return teacher.about;
      } finally {
        release();
      }
    }),
};

export type PlayApi = typeof api;
Comlink.expose(api);
