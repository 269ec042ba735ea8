import { describeEpisode, describeTurn, type Episode, type ReadableTurn } from '../learn/describe.ts';
import { rollouts } from '../learn/rollout.ts';
import { pack } from '../policy/batch.ts';
import type { Checkpoint, DeviceInfo, PolicyEngine, PolicyShape } from '../policy/engine.ts';
import { type ExportOptions, exportOnnx } from '../policy/onnx/export.ts';
import type { OnnxProvider, OnnxRuntime } from '../policy/onnx/lm.ts';
import { type OnnxPolicy, openOnnxPolicy } from '../policy/onnx/policy.ts';
import { createWordTokenizer } from '../policy/tokenizer/index.ts';
import type { Task } from '../task/model.ts';
import { worldById } from '../world/index.ts';
import type { Language } from '../world/language.ts';
import { channel, type Emit } from './channel.ts';

/** Turns that an episode may take beyond the calls of its task and the closing `done`. */
const SPARE_TURNS = 3;

/** What to play: a policy, one task of its world, and how to draw. */
export interface PlayRequest {
  world: string;
  checkpoint: Checkpoint;
  task: Task;
  provider: OnnxProvider;
  /** 0 = greedy. */
  temperature: number;
  seed: number;
}

/** What playing needs of the place where it is done. */
export interface PlayPlace {
  loadRuntime(provider: OnnxProvider): Promise<OnnxRuntime>;
  /** The lab's own engine, to compare with. */
  openPolicy(shape: PolicyShape, capacity: number): Promise<PolicyEngine>;
  /** Milliseconds, for rates only. */
  clock(): number;
}

/** What playing tells, in order. */
export type PlayEvent =
  /** The model is loaded: size of its file in bytes, and how long export and loading took. */
  | { type: 'ready'; provider: OnnxProvider; bytes: number; seconds: number }
  /** Tokens that the policy was given: the request, then what the world answered. */
  | { type: 'heard'; tokens: string[] }
  /** A token that it said, and tokens a second so far, passes over what it heard included. */
  | { type: 'said'; token: string; tokensPerSecond: number }
  | { type: 'turn'; turn: ReadableTurn }
  | { type: 'episode'; episode: Episode; tokens: number; tokensPerSecond: number }
  | { type: 'agreement'; agreement: Agreement };

/** How far the ONNX model's logits are from the engine's, both as computed here. */
export interface Agreement {
  /** Largest difference of two logits. */
  difference: number;
  /** Spread of the engine's logits, largest less smallest: what the difference is small against. */
  spread: number;
  positions: number;
  engine: DeviceInfo;
}

/** What an ONNX file for others holds besides the policy: its cache, and the tokens of its world. @throws LabError on an unknown world. */
export function exportOptions(world: string): ExportOptions {
  const { vocabulary } = worldById(world).language;
  return { cache: true, tokenizer: createWordTokenizer(vocabulary), vocabulary };
}

/** The policy of a run as an ONNX file for others. */
export const policyFile = (world: string, checkpoint: Checkpoint): Uint8Array<ArrayBuffer> =>
  exportOnnx(checkpoint, exportOptions(world));

/**
 * Exports a policy to ONNX, lets the ONNX model act on one task in its world, token by token with its cache, and compares
 * every logit that it gave with the lab's engine on the same tokens. Not reading pauses it.
 * @throws LabError where the model does not load on the provider, or fails.
 */
export const playPolicy = (request: PlayRequest, place: PlayPlace): AsyncGenerator<PlayEvent> =>
  channel<PlayEvent>(async (emit) => {
    const { provider, checkpoint, world } = request;
    const began = place.clock();
    const file = policyFile(world, checkpoint);
    const policy = await openOnnxPolicy(await place.loadRuntime(provider), file, provider);
    try {
      await emit({ type: 'ready', provider, bytes: file.length, seconds: (place.clock() - began) / 1000 });
      const trace = await act(policy, request, place, emit);
      // A request that leaves no room in the context is over before anything is computed.
      if (trace.rows.length > 0)
        await emit({ type: 'agreement', agreement: await compare(trace, checkpoint, place) });
    } finally {
      await policy.destroy();
    }
  });

/** Tokens of a rollout that entered the cache, and the logits after each of them. */
interface LogitTrace {
  tokens: number[];
  rows: Float32Array[];
}

async function act(
  policy: OnnxPolicy,
  { world, task, temperature, seed }: PlayRequest,
  { clock }: PlayPlace,
  emit: Emit<PlayEvent>,
): Promise<LogitTrace> {
  const definition = worldById(world);
  const { language } = definition;
  const trace: LogitTrace = { tokens: [], rows: [] };
  const watch = new Stopwatch(clock);
  const words = (ids: readonly number[]) => spelled(ids, language);
  // A turn is told when the next one begins, or at the end: `heard` must not hold up what it hears of.
  let turns: ReadableTurn[] = [];
  const tellTurns = async () => {
    const told = turns;
    turns = [];
    for (const turn of told) await emit({ type: 'turn', turn });
  };
  const player = {
    shape: policy.shape,
    sampler: (count: number) => {
      const sampler = policy.sampler(count, {
        logits: (_, position, row) => {
          trace.rows[position] = row.slice();
        },
        token: async (_, token) => {
          trace.tokens.push(token);
          watch.said += 1;
          watch.stop();
          await emit({ type: 'said', token: words([token])[0]!, tokensPerSecond: watch.rate });
          watch.start();
        },
      });
      return {
        rollouts: sampler.rollouts,
        reset: () => sampler.reset(),
        destroy: () => sampler.destroy(),
        async turn(...[inputs, options]: Parameters<typeof sampler.turn>) {
          await tellTurns();
          const heard = inputs[0] ?? [];
          trace.tokens.push(...heard);
          await emit({ type: 'heard', tokens: words(heard) });
          watch.start();
          try {
            return await sampler.turn(inputs, options);
          } finally {
            watch.stop();
          }
        },
      };
    },
  };
  const options = {
    parallel: 1,
    turns: task.chain.length + 1 + SPARE_TURNS,
    temperature,
    seed,
    heard: (turn: Parameters<typeof describeTurn>[0]) => void turns.push(describeTurn(turn, language)),
  };
  for await (const [record] of rollouts(player, definition, [task], options)) {
    await tellTurns();
    if (!record) continue;
    const episode = describeEpisode(record, language);
    await emit({ type: 'episode', episode, tokens: watch.said, tokensPerSecond: watch.rate });
  }
  return { tokens: trace.tokens.slice(0, trace.rows.length), rows: trace.rows };
}

/** Runs the engine over the same tokens, all at once, and takes the largest difference of two logits. */
async function compare(
  { tokens, rows }: LogitTrace,
  checkpoint: Checkpoint,
  place: PlayPlace,
): Promise<Agreement> {
  const { shape } = checkpoint;
  const engine = await place.openPolicy(shape, tokens.length);
  try {
    engine.load(checkpoint);
    const logits = await engine.logits(pack([{ tokens, weights: tokens.map(() => 0) }]));
    let difference = 0;
    let [least, most] = [Infinity, -Infinity];
    for (const [n, row] of rows.entries())
      for (let v = 0; v < shape.vocab; v++) {
        const logit = logits[n * shape.vocab + v]!;
        // The maximum of anything and NaN is NaN: a logit that is no number can't go unseen.
        difference = Math.max(difference, Math.abs(row[v]! - logit));
        least = Math.min(least, logit);
        most = Math.max(most, logit);
      }
    return { difference, spread: most - least, positions: rows.length, engine: engine.device };
  } finally {
    engine.destroy();
  }
}

/** Adds up the time in which the model was at work. */
class Stopwatch {
  said = 0;
  readonly #clock: () => number;
  #spent = 0;
  #since: number | null = null;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  start(): void {
    this.#since = this.#clock();
  }

  stop(): void {
    if (this.#since !== null) this.#spent += this.#clock() - this.#since;
    this.#since = null;
  }

  /** Tokens said a second. */
  get rate(): number {
    return this.said === 0 ? 0 : (1000 * this.said) / this.#spent;
  }
}

const spelled = (ids: readonly number[], { vocabulary }: Language): string[] =>
  ids.map((id) => vocabulary[id] ?? '?');
