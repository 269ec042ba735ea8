import { beforeAll, describe, expect, it } from 'vitest';
import { channel } from '../../src/lab/channel.ts';
import { type PlayEvent, type PlayRequest, playPolicy, policyFile } from '../../src/lab/play.ts';
import { teacherFor } from '../../src/lab/teach.ts';
import { readOnnx } from '../../src/policy/onnx/file.ts';
import { createWordTokenizer } from '../../src/policy/tokenizer/index.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { desk } from '../../src/world/desk/index.ts';
import { ort } from '../policy/onnx/harness.ts';
import { tinyPolicy } from './tiny-policy.ts';

const place = {
  loadRuntime: async () => ort,
  openPolicy: async (...[shape, capacity]: [Parameters<typeof createCpuEngine>[0], number]) =>
    createCpuEngine(shape, { capacity }),
  clock: () => performance.now(),
};

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe('playing a policy in ONNX', () => {
  let request: PlayRequest;
  beforeAll(async () => {
    const { task, checkpoint } = await tinyPolicy();
    request = { world: 'desk', checkpoint, task, provider: 'wasm', temperature: 0, seed: 1 };
  });
  const of = <K extends PlayEvent['type']>(events: PlayEvent[], type: K) =>
    events.filter((event): event is Extract<PlayEvent, { type: K }> => event.type === type);

  it('does the task that the policy learned, tells each token, and agrees with the engine', async () => {
    const events = await collect(playPolicy(request, place));
    const [{ episode, tokens } = { episode: null, tokens: 0 }] = of(events, 'episode');
    expect(episode).toMatchObject({ task: request.task.id, passed: true, failures: [] });
    expect(episode?.turns.length).toBe(request.task.chain.length + 1);
    expect(of(events, 'turn').map(({ turn }) => turn)).toEqual(episode?.turns);
    expect(of(events, 'said').map(({ token }) => token)).toEqual(
      episode?.turns.flatMap((turn) => turn.tokens),
    );
    expect(tokens).toBe(of(events, 'said').length);
    const { language } = desk;
    const heard = of(events, 'heard').map((event) => event.tokens);
    expect(heard[0]).toEqual(
      language.encodeRequest(request.task.request).map((id) => language.vocabulary[id]),
    );
    expect(heard.length).toBe(episode?.turns.length);
    const [{ agreement } = { agreement: null }] = of(events, 'agreement');
    // Every token but the last one, which nothing followed.
    expect(agreement?.positions).toBe(heard.flat().length + tokens - 1);
    expect(agreement?.difference).toBeGreaterThan(0);
    expect(agreement?.difference).toBeLessThan(1e-4);
    expect(agreement?.spread).toBeGreaterThan(2);
    expect(events.at(-1)?.type).toBe('agreement');
  });

  it('shows it where the file is not the policy that the engine has', async () => {
    const wrong = request.checkpoint.parameters.slice();
    wrong[40] = wrong[40]! + 0.5;
    const openPolicy: typeof place.openPolicy = async (shape, capacity) => {
      const engine = createCpuEngine(shape, { capacity });
      const { load } = engine;
      engine.load = (checkpoint) => load.call(engine, { ...checkpoint, parameters: wrong });
      return engine;
    };
    const events = await collect(playPolicy(request, { ...place, openPolicy }));
    expect(of(events, 'agreement')[0]?.agreement.difference).toBeGreaterThan(1e-3);
  });

  it('stops at the next token where nobody reads on, and can be played again', async () => {
    let said = 0;
    for await (const event of playPolicy(request, place)) {
      if (event.type === 'said') said += 1;
      if (said === 2) break;
    }
    expect(of(await collect(playPolicy(request, place)), 'episode')[0]?.episode.passed).toBe(true);
  });

  it('is over at once where the request leaves no room in the context', async () => {
    const shape = { ...request.checkpoint.shape, context: 8 };
    const checkpoint = { ...request.checkpoint, shape };
    const events = await collect(playPolicy({ ...request, checkpoint }, place));
    expect(events.map(({ type }) => type)).toEqual(['ready', 'episode']);
    expect(of(events, 'episode')[0]?.episode.failures[0]).toBe('ran out of context without saying done');
    expect(of(events, 'episode')[0]?.tokensPerSecond).toBe(0);
  });

  it('exports a file that names its tokens, and that can teach in its own world', async () => {
    const bytes = policyFile('desk', request.checkpoint);
    const { metadata } = readOnnx(bytes);
    expect(JSON.parse(metadata.get('vocabulary') ?? '')).toEqual(desk.language.vocabulary);
    expect(metadata.get('tokenizer')).toBe(createWordTokenizer(desk.language.vocabulary).identity);
    const teacher = await teacherFor('desk', { model: new Blob([bytes]), tokenizer: null }, ort, 'wasm');
    expect(teacher.vocab).toBe(desk.language.vocabulary.length);
    await teacher.destroy();
    const other = new Blob([JSON.stringify(createWordTokenizer(['a', 'b']).toJson())]);
    await expect(
      teacherFor('desk', { model: new Blob([bytes]), tokenizer: other }, ort, 'wasm'),
    ).rejects.toThrow(/names another tokenizer/);
    const none = new Blob(['{']);
    await expect(
      teacherFor('desk', { model: new Blob([bytes]), tokenizer: none }, ort, 'wasm'),
    ).rejects.toThrow(/no JSON/);
  });
});

describe('a channel', () => {
  it('hands items over one by one, and waits for the reader', async () => {
    const log: string[] = [];
    const stream = channel<number>(async (emit) => {
      for (let i = 0; i < 3; i++) {
        await emit(i);
        log.push(`made ${i}`);
      }
    });
    for await (const item of stream) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      log.push(`read ${item}`);
    }
    expect(log).toEqual(['read 0', 'made 0', 'read 1', 'made 1', 'read 2', 'made 2']);
  });

  it('ends the work where the reader leaves, and waits until it has ended', async () => {
    const log: string[] = [];
    const stream = channel<number>(async (emit) => {
      try {
        for (let i = 0; ; i++) await emit(i);
      } finally {
        await new Promise((resolve) => setTimeout(resolve, 2));
        log.push('ended');
      }
    });
    for await (const item of stream) if (item === 2) break;
    expect(log).toEqual(['ended']);
  });

  it('tells all items before the error of the work', async () => {
    const seen: number[] = [];
    const read = async () => {
      for await (const item of channel<number>(async (emit) => {
        await emit(1);
        throw new Error('broken');
      }))
        seen.push(item);
    };
    await expect(read()).rejects.toThrow('broken');
    expect(seen).toEqual([1]);
  });
});
