import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { alternate } from '../../../src/lab/bench/duel.ts';

/** Contenders on a clock of our own: each call is written down as "name × count". */
function contender(name: string, milliseconds: (call: number) => number, log: string[]) {
  let call = 0;
  return async (count: number) => {
    log.push(`${name}×${count}`);
    vi.advanceTimersByTime(milliseconds(call++) * count);
  };
}

async function timed(generator: AsyncGenerator<null, number[]>): Promise<number[]> {
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return value;
  }
}

describe('timing in turn', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('warms up, fills rounds with quick work, and takes the median of each', async () => {
    const log: string[] = [];
    const quick = contender('quick', (call) => [900, 10, 10, 30, 11][call] ?? 12, log);
    const slow = contender('slow', (call) => (call === 0 ? 5000 : 400), log);
    expect(await timed(alternate([quick, slow], 3))).toEqual([11, 400]);
    expect(log).toEqual([
      'quick×1',
      'slow×1',
      'quick×1',
      'slow×1',
      'quick×30',
      'slow×1',
      'quick×30',
      'slow×1',
      'quick×30',
      'slow×1',
    ]);
  });

  it('asks no longer for what takes too long, and still has a measurement of it', async () => {
    const log: string[] = [];
    const endless = contender('endless', () => 48_000, log);
    const quick = contender('quick', () => 100, log);
    expect(await timed(alternate([endless, quick], 5))).toEqual([48_000, 100]);
    expect(log.filter((entry) => entry.startsWith('endless'))).toHaveLength(2);
  });
});
