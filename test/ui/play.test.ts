import { describe, expect, it } from 'vitest';
import type { PlayEvent, PlayRequest } from '../../src/lab/play.ts';
import { Player } from '../../src/ui/play/player.svelte.ts';
import type { PlayService } from '../../src/ui/play/service.ts';
import { agreementWords, fileSize, teacherWords } from '../../src/ui/play/words.ts';

const request = {} as PlayRequest;
const episode = { task: 't', text: 'Do it.', passed: true, failures: [], turns: [] };
const turn = { tokens: ['done', '<end>'], action: 'done', observation: '' };
const engine = { backend: 'cpu' as const, name: 'JavaScript', limits: {}, features: [] };
const agreement = { difference: 3.3e-6, spread: 17.9, positions: 28, engine };

const EVENTS: PlayEvent[] = [
  { type: 'ready', provider: 'wasm', bytes: 100, seconds: 1 },
  { type: 'heard', tokens: ['<bos>', '<turn>'] },
  { type: 'said', token: 'done', tokensPerSecond: 5 },
  { type: 'said', token: '<end>', tokensPerSecond: 6 },
  { type: 'turn', turn },
  { type: 'episode', episode, tokens: 2, tokensPerSecond: 6 },
  { type: 'agreement', agreement },
];

/** A service whose plays tell `events`, pausing at each `null` until `go` is called. */
function service(events: (PlayEvent | null | Error)[]): {
  service: PlayService;
  go: () => void;
  ended: () => boolean;
} {
  let go = () => {};
  let ended = false;
  const play = async function* (): AsyncGenerator<PlayEvent> {
    try {
      for (const event of events) {
        if (event instanceof Error) throw event;
        if (event) yield event;
        else
          await new Promise<void>((resolve) => {
            go = resolve;
          });
      }
    } finally {
      ended = true;
    }
  };
  return { service: { play } as unknown as PlayService, go: () => go(), ended: () => ended };
}
const settle = () => new Promise((resolve) => setTimeout(resolve));

describe('Player', () => {
  it('gathers what is heard and said, turn by turn', async () => {
    const player = new Player(service(EVENTS).service);
    await player.play(request);
    expect(player.phase).toBe('done');
    expect(player.exchanges).toEqual([{ heard: ['<bos>', '<turn>'], said: ['done', '<end>'], turn }]);
    expect([player.tokens, player.tokensPerSecond]).toEqual([2, 6]);
    expect(player.episode).toEqual(episode);
    expect(player.agreement).toEqual(agreement);
    expect(player.busy).toBe(false);
  });

  it('says nothing more of a play that was stopped, and ends it', async () => {
    const { service: playing, go, ended } = service([...EVENTS.slice(0, 3), null, ...EVENTS.slice(3)]);
    const player = new Player(playing);
    const over = player.play(request);
    await settle();
    expect(player.phase).toBe('playing');
    player.stop();
    go();
    await over;
    expect(player.phase).toBe('stopped');
    expect(player.exchanges[0]?.said).toEqual(['done']);
    expect(ended()).toBe(true);
  });

  it('shows why a play failed, and starts the next one clean', async () => {
    const player = new Player(service([...EVENTS.slice(0, 3), new Error('no device')]).service);
    await player.play(request);
    expect([player.phase, player.error]).toEqual(['failed', 'no device']);
    await player.play(request);
    expect(player.exchanges.length).toBe(1);
    expect(player.tokens).toBe(1);
  });
});

describe('words of playing', () => {
  it('states what was measured, whether it agrees or not', () => {
    expect(agreementWords(agreement)).toBe(
      'They agree: over 28 tokens the largest difference of a logit from the lab’s own engine (processor, JavaScript) is ' +
        '3.3e−6, where logits span 17.9; the limit is 1.0e−4.',
    );
    for (const difference of [2e-4, Number.NaN])
      expect(agreementWords({ ...agreement, difference })).toMatch(/^They do not agree/);
  });

  it('counts bytes, and says what a teacher is', () => {
    expect([fileSize(73_200), fileSize(12_400_000)]).toEqual(['73.2 kB', '12.4 MB']);
    const facts = {
      provider: 'wasm' as const,
      opset: 14,
      nodes: 9,
      weights: 1200,
      inputs: ['input_ids'],
      cacheLayers: 0,
      logits: 'float16' as const,
      paddedIds: 47,
      tokenizer: 'given' as const,
    };
    const words = teacherWords('a.onnx', facts);
    expect(words).toMatch(
      /no cache; logits in float16\). Its tokenizer was given; it is the student’s\. 47 rows/,
    );
  });
});
