import { beforeAll, describe, expect, it } from 'vitest';
import { type FailureKind, LabError } from '../../src/base/errors.ts';
import { Rng } from '../../src/base/rng.ts';
import { recovering } from '../../src/lab/recovery.ts';
import type { RunEvent } from '../../src/lab/services.ts';
import type { LearnEvent, LearnResume } from '../../src/methods/method.ts';
import type { Checkpoint } from '../../src/policy/engine.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import { type Call, type Disturb, hours, kept, type Place, recoveries, tell } from './disturbed.ts';

const twins: Place = { open: async (shape, capacity) => createCpuEngine(shape, { capacity }) };
const broken = (kind: FailureKind) => new LabError('it broke', { kind });

/** Throws at the calls numbered so, in the place of their work. */
function breakAt(...at: number[]): Disturb {
  let count = 0;
  return (_, work) => {
    if (at.includes(count++)) throw broken('device lost');
    return work();
  };
}

describe('a run on the twins whose device is lost', () => {
  let whole: RunEvent[] = [];
  const calls: Call[] = [];
  beforeAll(async () => {
    whole = await tell(twins, (call, work) => {
      calls.push(call);
      return work();
    });
  }, 60_000);

  it('does everything that can be disturbed', () => {
    expect(new Set(calls)).toEqual(new Set(['open', 'initialise', 'turn', 'train', 'stats', 'save']));
    expect(recoveries(whole)).toEqual([]);
  });

  it('tells each thing once and ends with the bits of an undisturbed one, whenever it happens', async () => {
    const rng = new Rng('moments');
    const moments = [0, 1, calls.indexOf('train'), calls.lastIndexOf('save'), calls.length - 1];
    for (let i = 0; i < 6; i++) moments.push(rng.int(calls.length));
    for (const moment of moments) {
      const events = await tell(twins, breakAt(moment));
      expect(recoveries(events), `call ${moment}, ${calls[moment]}`).toHaveLength(1);
      expect(kept(events), `call ${moment}, ${calls[moment]}`).toEqual(kept(whole));
    }
  }, 120_000);

  it('says where it was lost and where it goes on', async () => {
    const trains = calls.flatMap((call, i) => (call === 'train' ? [i] : []));
    const said = async (at: number) => recoveries(await tell(twins, breakAt(at)))[0]?.text;
    expect(await said(0)).toBe(
      'The graphics device was lost before the first step; it starts again from the initial weights.',
    );
    expect(await said(trains[14]!)).toBe(
      'The graphics device was lost at step 10; training goes on from step 10.',
    );
    expect(await said(calls.length - 1)).toBe(
      'The graphics device was lost while trained was evaluated; training goes on from step 30.',
    );
  }, 60_000);

  it('is lost several times, far apart', async () => {
    const [a, b, c] = ['initialise', 'train', 'save'].map((call) => calls.indexOf(call as Call));
    const events = await tell(twins, breakAt(a!, b! + 15, c! + 30));
    expect(recoveries(events)).toHaveLength(3);
    expect(kept(events)).toEqual(kept(whole));
  }, 60_000);

  it('stops with advice when it is lost twice within a minute', async () => {
    let time = 0;
    const run = tell(twins, breakAt(2, 30), () => {
      time += 59_999;
      return time;
    });
    await expect(run).rejects.toMatchObject({
      kind: null,
      message: expect.stringMatching(/lost.*not for the first time \(it broke\)/),
      remedy: expect.stringMatching(/tokens a step.*other tabs.*driver.*CPU engine/),
    });
  });

  it('resumes once from numbers that are not finite, then says to lower the learning rate', async () => {
    let trained = 0;
    const wild: Place = {
      open: async (shape, capacity) => {
        const engine = createCpuEngine(shape, { capacity });
        const train = engine.train.bind(engine);
        // From step 13 on the rate is absurd, on every try.
        engine.train = (batch, options) => {
          trained++;
          const step = engine === latest.engine ? ++latest.step : 0;
          train(batch, { ...options, learningRate: step > 12 ? 1e38 : options.learningRate });
        };
        const load = engine.load.bind(engine);
        engine.load = (checkpoint) => {
          latest.step = checkpoint.step;
          load(checkpoint);
        };
        latest = { engine, step: 0 };
        return engine;
      },
    };
    let latest: { engine: unknown; step: number } = { engine: null, step: 0 };
    const told: string[] = [];
    const run = tell(wild, (_, work) => work(), hours()).catch((error: LabError) => told.push(String(error)));
    await run;
    expect(told[0]).toMatch(/no finite number at step 10, not for the first time.*lower the learning rate/);
    // Steps 1 … 20, and 11 … 20 once more.
    expect(trained).toBe(30);
  }, 60_000);

  it('passes on every other error at once', async () => {
    const run = tell(twins, (call, work) => {
      if (call === 'save') throw new LabError('no space');
      return work();
    });
    await expect(run).rejects.toThrow('no space');
  });
});

describe('recovering', () => {
  const checkpoint = (step: number): LearnEvent => ({
    type: 'checkpoint',
    arm: 'a',
    checkpoint: { step } as Checkpoint,
  });
  const steps = (...numbers: number[]): LearnEvent => ({
    type: 'steps',
    arm: 'a',
    stats: numbers.map((step) => ({ step, loss: step, gradientNorm: 1, trained: 1, tokens: 1 })),
    learningRate: 1,
    tokensPerSecond: 1,
  });

  /** A learner that tells one list of events a try, and breaks after each but the last. */
  async function collect(
    tries: LearnEvent[][],
    options: Partial<Parameters<typeof recovering>[2]> & { kinds?: FailureKind[]; resume?: LearnResume } = {},
  ) {
    const given: (LearnResume | undefined)[] = [];
    async function* learn(resume?: LearnResume) {
      given.push(resume);
      const attempt = given.length - 1;
      yield* tries[attempt]!;
      if (attempt < tries.length - 1) throw broken(options.kinds?.[attempt] ?? 'device lost');
    }
    const events = [];
    const { away } = options;
    for await (const event of recovering(learn, options.resume, {
      now: options.now ?? hours(),
      ...(away ? { away } : {}),
    }))
      events.push(event);
    return { events, given };
  }

  it('begins each try from the last checkpoint told of, and tells what follows it once', async () => {
    const { events, given } = await collect([
      [steps(1, 2), checkpoint(2), steps(3, 4), steps(5, 6)],
      [steps(3, 4), steps(5, 6, 7), checkpoint(8)],
      [steps(9)],
    ]);
    expect(given.map((resume) => resume?.checkpoint?.step)).toEqual([undefined, 2, 8]);
    const told = events.flatMap((event) =>
      event.type === 'steps' ? event.stats.map(({ step }) => step) : [],
    );
    expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 9]);
    expect(events.flatMap((event) => (event.type === 'recovery' ? [[event.step, event.from]] : []))).toEqual([
      [6, 2],
      [8, 8],
    ]);
  });

  it('keeps a checkpoint that it was given, and the arms that are finished', async () => {
    const resume: LearnResume = { finished: ['x'], arm: 'a', checkpoint: { step: 7 } as Checkpoint };
    const finished: LearnEvent = { type: 'arm', arm: 'a', step: 9 };
    const { given } = await collect([[], [finished], []], { resume });
    expect(given[1]).toEqual(resume);
    expect(given[2]).toEqual({ finished: ['x', 'a'] });
  });

  it('gives up at the third failure without a checkpoint between, however slowly they come', async () => {
    await expect(collect([[], [], [], []])).rejects.toThrow(/not for the first time/);
    expect((await collect([[], [], [checkpoint(1)], [], []])).given).toHaveLength(5);
  });

  it('gives up at the second number that is not finite from one place', async () => {
    const kinds: FailureKind[] = ['not a number', 'not a number'];
    await expect(collect([[], [], []], { kinds })).rejects.toMatchObject({
      remedy: expect.stringContaining('learning rate'),
    });
    expect((await collect([[], [checkpoint(5)], []], { kinds })).given).toHaveLength(3);
  });

  it('waits for the reader instead of giving up where nobody watches', async () => {
    let waited = 0;
    const away = async () => {
      waited++;
    };
    const { given } = await collect([[], [], [], []], { now: () => 0, away });
    expect(given).toHaveLength(4);
    expect(waited).toBe(2);
  });

  it('ends quietly when its reader leaves', async () => {
    let closed = 0;
    async function* learn() {
      try {
        yield steps(1);
        yield steps(2);
      } finally {
        closed++;
      }
    }
    for await (const _ of recovering(learn, undefined, { now: () => 0 })) break;
    expect(closed).toBe(1);
  });
});
