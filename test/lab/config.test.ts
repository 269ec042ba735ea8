import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkArms,
  checkSeed,
  configDiff,
  describeDiff,
  normaliseConfig,
  parseSetting,
} from '../../src/lab/config.ts';
import type { RunSpec } from '../../src/methods/method.ts';
import { refusal, SAMPLE } from './sample-method.ts';

const normal = (changes: Record<string, unknown>) => normaliseConfig(SAMPLE, 'micro', changes);

describe('normaliseConfig', () => {
  it('fills in the preset and keeps the order of the controls', () => {
    const config = normal({ walkLength: 6, batch: 64 });
    expect(config).toEqual({ batch: 64, rate: 0.003, masking: 'agent', walkLength: 6 });
    expect(Object.keys(config)).toEqual(['batch', 'rate', 'masking', 'walkLength']);
  });

  it('reads text as a number where the control is one', () => {
    expect(normal({ batch: '64', rate: '1e-3', masking: 'all & more' })).toMatchObject({
      batch: 64,
      rate: 0.001,
      masking: 'all & more',
    });
    expect(Object.is(normal({ walkLength: '-0' }).walkLength, 0)).toBe(true);
  });

  it.each([
    [
      { batch: 300 },
      /batch: Batch: 300 is not allowed — Give a whole number from 8 to 256 tasks in steps of 8/,
    ],
    [{ batch: 4 }, /from 8 to 256/],
    [{ batch: 33 }, /the nearest are 32 or 40/],
    [{ batch: 32.5 }, /whole number/],
    [{ batch: Number.NaN }, /NaN is not allowed/],
    [{ batch: '6O' }, /"6O" is not allowed/],
    [{ batch: ' 64' }, /not allowed/],
    [{ batch: '0x40' }, /not allowed/],
    [{ batch: '' }, /not allowed/],
    [{ batch: null }, /null is not allowed/],
    [{ batch: [64] }, /a list is not allowed/],
    [{ rate: 0.00305 }, /the nearest are 0.003 or 0.0031/],
    [{ rate: Number.POSITIVE_INFINITY }, /Infinity is not allowed/],
    [{ masking: 'agnet' }, /Did you mean agent\? Choose one of agent, all & more/],
    [{ masking: 1 }, /Masking: 1 is not allowed/],
    [{ bach: 64 }, /ToolSpace has no setting "bach" — Did you mean batch\? Settings: batch, rate/],
    [{ walklength: 5 }, /Did you mean walkLength/],
    [{ somethingElseAltogether: 5 }, /no setting "somethingElseAltogether" — Settings:/],
    [JSON.parse('{"__proto__": 1}'), /"__proto__" is not allowed/],
    [{ constructor: 1 }, /"constructor" is not allowed/],
    [{ prototype: 1 }, /"prototype" is not allowed/],
    [{ toString: 1 }, /no setting "toString"/],
  ])('refuses %j', async (changes, message) => {
    expect(await refusal(() => normal(changes))).toMatch(message);
  });

  it('refuses a preset that the method lacks', async () => {
    expect(await refusal(() => normaliseConfig(SAMPLE, 'laptop', {}))).toMatch(
      /no preset "laptop" — .*Presets: micro, full/,
    );
  });

  it("allows a preset's own value off the grid, and the values of the grid whatever binary fractions do to them", () => {
    expect(normaliseConfig(SAMPLE, 'full', {}).rate).toBe(0.00105);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), (k) => {
        expect(normal({ rate: k * 0.0001 }).rate).toBe(k * 0.0001);
      }),
    );
  });

  it('names a control that the preset forgot', async () => {
    const broken = { ...SAMPLE, presets: { micro: { batch: 32 } } };
    expect(await refusal(() => normaliseConfig(broken, 'micro', {}))).toMatch(
      /preset micro .* sets no value for Learning rate/,
    );
  });

  it('shows hostile text as escapes', async () => {
    expect(await refusal(() => normal({ 'a\u202eb\n': 1 }))).toContain('"a\\u{202e}b\\u{a}"');
  });
});

describe('configDiff', () => {
  it('keeps only what differs, and gives the configuration back', () => {
    const config = normal({ batch: 64, masking: 'agent' });
    expect(configDiff(SAMPLE, 'micro', config)).toEqual({ batch: 64 });
    expect(normal(configDiff(SAMPLE, 'micro', config))).toEqual(config);
  });
});

describe('parseSetting', () => {
  it('splits at the first equals sign', () => {
    expect(parseSetting('batch=64')).toEqual({ key: 'batch', value: '64' });
    expect(parseSetting('a = b=c ')).toEqual({ key: 'a', value: 'b=c' });
  });

  it.each(['batch', 'batch=', '=64', '', '__proto__=1'])('refuses %j', async (text) => {
    expect(await refusal(() => parseSetting(text))).toMatch(/Write key=value|not allowed/);
  });
});

describe('seeds and arms', () => {
  it('takes unsigned 32-bit seeds, also as digits', () => {
    expect([checkSeed(0), checkSeed('4294967295'), checkSeed('007')]).toEqual([0, 4294967295, 7]);
  });

  it.each([-1, 1.5, 4294967296, '4294967296', '', '1e3', '-1', Number.NaN, null, undefined])(
    'refuses seed %j',
    async (seed) => {
      expect(await refusal(() => checkSeed(seed))).toMatch(/whole number from 0 to 4294967295/);
    },
  );

  it('orders arms as the method does and refuses unknown and repeated ones', async () => {
    expect(checkArms(SAMPLE, ['none', 'graph'])).toEqual(['graph', 'none']);
    expect(checkArms(SAMPLE, [])).toEqual(['graph', 'random', 'none']);
    expect(await refusal(() => checkArms(SAMPLE, ['grpah']))).toMatch(/Did you mean graph/);
    expect(await refusal(() => checkArms(SAMPLE, ['graph', 'graph']))).toMatch(/named twice/);
  });
});

describe('describeDiff', () => {
  const spec: RunSpec = {
    method: 'toolspace',
    preset: 'micro',
    config: normal({}),
    arms: ['graph', 'none'],
    seed: 1,
  };

  it('says in one sentence what changed', () => {
    const after = {
      ...spec,
      config: normal({ batch: 64, masking: 'all & more' }),
      arms: ['graph', 'random'],
      seed: 2,
    };
    expect(describeDiff(SAMPLE, spec, after)).toBe(
      'Batch 32 → 64 tasks, Masking agent turns → all turns, with Random calls, without No training, seed 1 → 2',
    );
    expect(describeDiff(SAMPLE, spec, { ...spec })).toBe('no change');
  });
});
