import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { metricSeries } from '../../src/ui/charts/series.ts';
import { pickEpisode, readAction } from '../../src/ui/episode/read.ts';
import { plainText, readLesson, safeLink } from '../../src/ui/lesson/markdown.ts';
import { Gate } from '../../src/ui/run/gate.ts';
import { Pace } from '../../src/ui/run/pace.ts';
import { count, duration, figure, percent } from '../../src/ui/words.ts';

describe('words', () => {
  it.each([
    [0, '0 s'],
    [59.4, '59 s'],
    [61, '1 min 1 s'],
    [120, '2 min'],
    [3540, '59 min'],
    [4800, '1 h 20 min'],
    [Number.NaN, '–'],
  ])('says %s seconds as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
  it('writes counts, shares and small numbers', () => {
    expect(count(1234567)).toBe('1\u202f234\u202f567');
    expect(percent(0.874)).toBe('87%');
    expect([figure(0.00002), figure(0.0314159), figure(-2), figure(0)]).toEqual([
      '2.0e−5',
      '0.0314',
      '−2',
      '0',
    ]);
  });
});

describe('Pace', () => {
  it('gives the time left at a steady rate', () => {
    const pace = new Pace();
    for (let done = 0; done <= 50; done += 10) pace.note('train', done, done / 5);
    expect(pace.left(100)).toBeCloseTo(10, 6);
  });
  it('starts afresh with another stage, and says nothing before it knows', () => {
    const pace = new Pace();
    pace.note('a', 0, 0);
    pace.note('a', 100, 10);
    pace.note('b', 0, 11);
    expect(pace.left(100)).toBeNull();
    expect(pace.left(0)).toBeNull();
  });
});

describe('Gate', () => {
  it('lets exactly one item through for a step', async () => {
    const gate = new Gate();
    gate.close();
    let passed = 0;
    const loop = (async () => {
      for (let i = 0; i < 3; i++) {
        await gate.pass();
        passed += 1;
      }
    })();
    const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
    await settle();
    expect(passed).toBe(0);
    gate.step();
    await settle();
    expect(passed).toBe(1);
    gate.open();
    await loop;
    expect(passed).toBe(3);
  });
});

describe('lesson', () => {
  const kinds = (markdown: string) => {
    const paragraph = readLesson(markdown)[0];
    return paragraph && 'tokens' in paragraph ? (paragraph.tokens ?? []).map((token) => token.type) : [];
  };
  it('finds formulas inside lines and on their own', () => {
    expect(kinds('where $N_i$ counts, $a_b * c$ too')).toEqual(['text', 'tex', 'text', 'tex', 'text']);
    expect(readLesson('$$\na = b\n$$\n\ntext')[0]).toMatchObject({
      type: 'tex',
      text: 'a = b',
      display: true,
    });
  });
  it('leaves prices alone', () => {
    expect(kinds('costs $5 and $6 each')).toEqual(['text']);
  });
  it('follows links to the web and to the page only', () => {
    expect(safeLink('https://example.org')).toBe('https://example.org');
    expect(safeLink('#graph')).toBe('#graph');
    for (const bad of ['javascript:alert(1)', 'data:text/html,x', ' javascript:1', 'http://x', '//x'])
      expect(safeLink(bad)).toBeNull();
  });
  it('reads character references as text', () => {
    expect(plainText('a &lt;b&gt; &amp; c')).toBe('a <b> & c');
  });
});

describe('readAction', () => {
  it('takes a call apart', () => {
    expect(readAction('send_mail {"to":"x","n":2}')).toEqual({
      tool: 'send_mail',
      args: [
        ['to', 'x'],
        ['n', '2'],
      ],
      rest: '',
    });
    expect(readAction('done: ["P3",4]')).toEqual({ tool: 'done', args: [], rest: 'P3, 4' });
    expect(readAction('done')).toEqual({ tool: 'done', args: [], rest: '' });
    expect(readAction('(token 2: expected a value)')).toEqual({
      tool: '',
      args: [],
      rest: 'token 2: expected a value',
    });
  });
  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void readAction(text)));
    fc.assert(fc.property(fc.string(), (text) => void readAction(`tool {${text}}`)));
  });
  it('prefers the same task, then a success', () => {
    const episode = (task: string, passed: boolean) => ({ task, passed, text: '', failures: [], turns: [] });
    const list = [episode('a', false), episode('b', true), episode('c', false)];
    expect([pickEpisode(list, 'c'), pickEpisode(list, 'z'), pickEpisode([], null)]).toEqual([2, 1, 0]);
  });
});

describe('metricSeries', () => {
  const arm = (id: string) => ({ id, title: id, description: '' });
  const judged = (id: string, step: number, mean: number) => ({
    arm: id,
    step,
    success: { mean, low: mean / 2, high: mean, n: 10 },
    metrics: { calls: 3 },
    episodes: [],
  });
  it('draws an untrained arm flat and sorts a trained one', () => {
    const series = metricSeries(
      [arm('u'), arm('t')],
      [judged('u', 0, 0.1), judged('t', 20, 0.6), judged('t', 10, 0.4)],
      'success',
      20,
    );
    expect(series.map(({ points }) => points)).toEqual([
      [
        [0, 0.1],
        [20, 0.1],
      ],
      [
        [10, 0.4],
        [20, 0.6],
      ],
    ]);
    expect(series[1]?.band).toEqual([
      [10, 0.2, 0.4],
      [20, 0.3, 0.6],
    ]);
  });
  it('has no band for a figure without an interval', () => {
    const [series] = metricSeries([arm('t')], [judged('t', 10, 0.4)], 'calls', 10);
    expect(series?.points).toEqual([[10, 3]]);
    expect(series?.band).toBeUndefined();
  });
});
