import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contrast } from '../../src/lab/chart/colours.ts';
import { decimate, placeLabels } from '../../src/lab/chart/data.ts';
import { TABLE_ROWS } from '../../src/lab/chart/text.ts';
import {
  armStyle,
  CHART_THEMES,
  type ChartSpec,
  chartCsv,
  chartSvg,
  lineChart,
  type SeriesSpec,
  valuesAt,
  xAt,
} from '../../src/lab/chart.ts';
import { refusal } from './sample-method.ts';

const series = (id: string, points: [number, number][], more: Partial<SeriesSpec> = {}): SeriesSpec => ({
  id,
  label: id,
  color: 0,
  dash: 'solid',
  marker: 'circle',
  points,
  ...more,
});

const spec = (list: SeriesSpec[], more: Partial<ChartSpec> = {}): ChartSpec => ({
  title: 'Success on held-out tasks',
  x: { label: 'Step', unit: '' },
  y: { label: 'Success', unit: 'share', rate: true },
  series: list,
  references: [],
  width: 640,
  height: 320,
  ...more,
});

const loss = { label: 'Loss', unit: 'nats' };

/** Coordinates of a path made of M and L. */
const vertices = (path: string) =>
  [...path.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])] as const);

/** Well-formed as XML: every element opened is closed, in order. */
function expectWellFormed(markup: string): void {
  const open: string[] = [];
  for (const [, closing, name, selfClosing] of markup.matchAll(
    /<(\/?)([a-z]+)(?:\s[a-zA-Z:-]+="[^"<>]*")*(\/?)>/g,
  )) {
    if (closing) expect(open.pop()).toBe(name);
    else if (!selfClosing) open.push(name!);
  }
  expect(open).toEqual([]);
  const left = markup.replace(/<\/?[a-z]+(?:\s[a-zA-Z:-]+="[^"<>]*")*\/?>/g, '');
  expect(left).not.toMatch(/[<>]/);
  expect(left.replace(/&(amp|lt|gt|quot|#39);/g, '')).not.toContain('&');
}

describe('lineChart', () => {
  it('puts points where the axes say', () => {
    const model = lineChart(
      spec([
        series('a', [
          [0, 0],
          [50, 0.5],
          [100, 1],
        ]),
      ]),
    );
    const { left, right, top, bottom } = model.plot;
    const seen = vertices(model.series[0]!.line);
    const expected = [
      [left, bottom],
      [(left + right) / 2, (top + bottom) / 2],
      [right, top],
    ];
    for (const [i, [x, y]] of expected.entries()) {
      expect(seen[i]![0]).toBeCloseTo(x!, 0);
      expect(seen[i]![1]).toBeCloseTo(y!, 0);
    }
    expect(xAt(model, (left + right) / 2)).toBeCloseTo(50);
    const tick = model.y.ticks.find(({ label }) => label === '0.4')!;
    expect(tick.at).toBeCloseTo(bottom - 0.4 * (bottom - top), 0);
    expect(model.y.label).toBe('Success (share)');
  });

  it('draws rates from 0 to 1 and other figures over their own range', () => {
    expect(
      lineChart(
        spec([
          series('a', [
            [0, 0.4],
            [1, 0.6],
          ]),
        ]),
      ).y.domain,
    ).toEqual([0, 1]);
    const [low, high] = lineChart(
      spec(
        [
          series('a', [
            [0, 4.1],
            [1, 5.9],
          ]),
        ],
        { y: loss },
      ),
    ).y.domain;
    expect([low > 3, low <= 4.1, high >= 5.9, high < 7]).toEqual([true, true, true, true]);
  });

  it('makes room for bands and references', () => {
    const list = [
      series(
        'a',
        [
          [0, 1],
          [1, 2],
        ],
        {
          band: [
            [0, -3, 2],
            [1, 1, 9],
          ],
        },
      ),
    ];
    const { domain } = lineChart(spec(list, { y: loss, references: [{ y: 20, label: 'paper' }] })).y;
    expect(domain[0]).toBeLessThanOrEqual(-3);
    expect(domain[1]).toBeGreaterThanOrEqual(20);
  });

  it('has whole ticks for whole steps', () => {
    const ticks = lineChart(
      spec([
        series('a', [
          [1, 0.1],
          [2, 0.2],
          [3, 0.3],
        ]),
      ]),
    ).x.ticks;
    expect(ticks.map(({ label }) => label)).toEqual(['1', '2', '3']);
  });

  it('stands empty data, one point, and points all alike', () => {
    const empty = lineChart(spec([series('a', [])]));
    expect(empty).toMatchObject({
      empty: true,
      summary: 'Success (share) by Step: no data yet.',
      series: [{ line: '', name: null }],
    });
    expect(chartSvg(empty, 'light')).toContain('No data yet');
    expect(lineChart(spec([])).empty).toBe(true);
    for (const points of [
      [[5, 0.3]],
      [
        [5, 0.3],
        [5, 0.3],
      ],
      [
        [0, 0],
        [0, 0],
      ],
    ] as [number, number][][]) {
      const model = lineChart(spec([series('a', points)], { y: loss }));
      expect(model.series[0]!.line).not.toMatch(/NaN|Infinity/);
      const [x, y] = vertices(model.series[0]!.line)[0]!;
      expect(x > model.plot.left && x < model.plot.right && y > model.plot.top && y < model.plot.bottom).toBe(
        true,
      );
    }
  });

  it('leaves out what is not finite, counts it, and shows the gap', () => {
    const model = lineChart(
      spec(
        [
          series(
            'a',
            [
              [0, 1],
              [1, 2],
              [2, Number.NaN],
              [3, 3],
              [Number.POSITIVE_INFINITY, 1],
              [4, Number.NEGATIVE_INFINITY],
            ],
            { band: [[0, Number.NaN, 2]] },
          ),
        ],
        { y: loss },
      ),
    );
    expect(model.omitted).toBe(4);
    expect(model.series[0]!.line.match(/M/g)).toHaveLength(2);
    expect(model.summary).toBe('Loss (nats) by Step. a ends at 3. 4 values are not finite and left out.');
    expect(model.series[0]!.points).toEqual([
      [0, 1],
      [1, 2],
      [3, 3],
    ]);
  });

  it('never draws outside the plot or writes a coordinate that is none', () => {
    const value = fc.oneof(
      fc.double(),
      fc.integer({ min: -5, max: 5 }),
      fc.constantFrom(1e150, -1e150, 1e308, 5e-324, Number.NaN),
    );
    const some = fc.array(fc.tuple(value, value), { maxLength: 30 });
    const band = fc.array(fc.tuple(value, value, value), { maxLength: 10 });
    fc.assert(
      fc.property(some, some, band, fc.boolean(), value, (one, two, interval, rate, reference) => {
        const list = [series('a', one, { band: interval }), series('b', two, { thin: true })];
        const model = lineChart(
          spec(list, { y: { ...loss, rate }, references: [{ y: reference, label: 'paper' }] }),
        );
        const { left, right, top, bottom } = model.plot;
        for (const { line, band: area, markers } of model.series) {
          expect(line + area).not.toMatch(/NaN|Infinity/);
          for (const [x, y] of [...vertices(line), ...markers.map((m) => [m.x, m.y] as const)]) {
            expect(x >= left - 0.2 && x <= right + 0.2 && y >= top - 0.2 && y <= bottom + 0.2).toBe(true);
          }
        }
        expectWellFormed(chartSvg(model, 'light'));
      }),
    );
  });

  it('thins thousands of points to pixel columns and keeps every peak', () => {
    const points = Array.from({ length: 50_000 }, (_, i): [number, number] => [
      i,
      i === 31_234 ? 9 : Math.sin(i),
    ]);
    const model = lineChart(spec([series('a', points)], { y: loss }));
    const seen = vertices(model.series[0]!.line);
    expect(seen.length).toBeLessThan(4 * (model.plot.right - model.plot.left + 2));
    const peak = Math.min(...seen.map(([, y]) => y));
    const [low, high] = model.y.domain;
    expect(peak).toBeCloseTo(
      model.plot.bottom - ((9 - low) / (high - low)) * (model.plot.bottom - model.plot.top),
      0,
    );
    expect(model.series[0]!.points).toHaveLength(50_000);
    expect(model.series[0]!.markers.length).toBeLessThanOrEqual(10);
    expect(model.table.rows).toHaveLength(TABLE_ROWS);
    expect(model.table.of).toBe(50_000);
    expect(model.table.rows.at(-1)![0]).toBe('49999');
  });

  it('keeps first, lowest, highest and last of each column', () => {
    const points = Array.from({ length: 1000 }, (_, i): [number, number] => [i / 1000, (i * 7919) % 1000]);
    const kept = decimate(points, (x) => x * 10);
    for (let column = 0; column < 10; column++) {
      const all = points.filter(([x]) => Math.floor(x * 10) === column);
      const some = kept.filter(([x]) => Math.floor(x * 10) === column);
      expect(some.length).toBeLessThanOrEqual(4);
      expect([some[0], some.at(-1)]).toEqual([all[0], all.at(-1)]);
      expect(Math.min(...some.map((p) => p[1]))).toBe(Math.min(...all.map((p) => p[1])));
      expect(Math.max(...some.map((p) => p[1]))).toBe(Math.max(...all.map((p) => p[1])));
    }
  });

  it('names lines beside them without overlap, references too, single seeds not', () => {
    const list = Array.from({ length: 6 }, (_, i) =>
      series(
        `arm ${i}`,
        [
          [0, 0],
          [10, 0.5 + i / 1000],
        ],
        armStyle(i),
      ),
    );
    const model = lineChart(
      spec([...list, series('seed', [[0, 0.5]], { thin: true })], {
        references: [{ y: 0.5, label: 'paper, table 2' }],
      }),
    );
    const names = [
      ...model.series.flatMap(({ name }) => name ?? []),
      ...model.references.map(({ name }) => name),
    ];
    expect(names.map(({ text }) => text)).toEqual([
      'arm 0',
      'arm 1',
      'arm 2',
      'arm 3',
      'arm 4',
      'arm 5',
      'paper, table 2: 0.5',
    ]);
    const ys = names.map(({ y }) => y).sort((a, b) => a - b);
    for (let i = 1; i < ys.length; i++) expect(ys[i]! - ys[i - 1]!).toBeGreaterThanOrEqual(14.8);
    expect(Math.min(...ys)).toBeGreaterThanOrEqual(model.plot.top);
    expect(Math.max(...ys)).toBeLessThanOrEqual(model.plot.bottom);
  });

  it('places labels in order, apart, inside the bounds, and leaves those alone that have room', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { maxLength: 12 }), (wanted) => {
        const places = placeLabels(wanted, 5, 0, 100);
        const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
        for (const [k, i] of order.entries()) {
          expect(places[i]! >= -1e-9 && places[i]! <= 100 + 1e-9).toBe(true);
          if (k > 0) expect(places[i]! - places[order[k - 1]!]!).toBeGreaterThan(5 - 1e-9);
        }
      }),
    );
    expect(placeLabels([10, 50, 90], 5, 0, 100)).toEqual([10, 50, 90]);
    expect(placeLabels([1, 1, 1], 80, 0, 100)).toEqual([0, 50, 100].map((y) => expect.closeTo(y, 0)));
  });

  it('tells what each line has at a step', () => {
    const model = lineChart(
      spec([
        series('a', [
          [0, 0.1],
          [10, 0.2],
          [20, 0.3],
        ]),
        series('b', [[5, 0.9]]),
        series('s', [[10, 1]], { thin: true }),
      ]),
    );
    expect(valuesAt(model, 12).map(({ series: { id }, x, y }) => [id, x, y])).toEqual([
      ['a', 10, 0.2],
      ['b', 5, 0.9],
    ]);
    expect(valuesAt(model, 999)[0]).toMatchObject({ x: 20 });
    expect(valuesAt(model, 16)[0]).toMatchObject({ x: 20 });
  });

  it('refuses a size without room', async () => {
    expect(await refusal(() => lineChart(spec([], { width: 50 })))).toMatch(/no room/);
    expect(await refusal(() => lineChart(spec([], { height: Number.NaN })))).toMatch(/no room/);
  });

  it('keeps a summary that it is given', () => {
    expect(lineChart(spec([series('a', [[0, 1]])], { summary: 'It rises.' })).summary).toBe('It rises.');
    const interval = lineChart(
      spec([series('a', [[0, 0.5]], { band: [[0, 0.4, 0.6]] })], {
        references: [{ y: 0.62, label: 'Paper' }],
      }),
    );
    expect(interval.summary).toBe('Success (share) by Step. a ends at 0.5 [0.4, 0.6]. Paper: 0.62.');
  });
});

describe('colours', () => {
  it('reach 3:1 for marks and 4.5:1 for text on the pages', () => {
    for (const [theme, pages] of [
      ['light', ['#ffffff', '#fbfaf6']],
      ['dark', ['#16171a', '#1d1f23']],
    ] as const) {
      const { arms, ink, soft } = CHART_THEMES[theme];
      for (const page of pages) {
        for (const colour of arms)
          expect(contrast(colour, page), `${colour} on ${page}`).toBeGreaterThanOrEqual(3);
        for (const colour of [ink, soft]) expect(contrast(colour, page)).toBeGreaterThanOrEqual(4.5);
      }
    }
    // WCAG's own figures: black on white is 21, #767676 on white 4.54.
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
    expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
  });

  it('tell arms apart by colour, dash and marker together', () => {
    const styles = Array.from({ length: 30 }, (_, i) => JSON.stringify(armStyle(i)));
    expect(new Set(styles).size).toBe(30);
  });
});

describe('chartSvg', () => {
  const HOSTILE = `"><script>alert(1)</script><img src=x onerror='x'>&amp;\u0000\u202e\ud800]]>`;

  it('escapes every text', () => {
    const list = [
      series(HOSTILE, [
        [0, 0.2],
        [1, 0.4],
      ]),
    ];
    const model = lineChart(
      spec(list, {
        title: HOSTILE,
        summary: HOSTILE,
        x: { label: HOSTILE, unit: HOSTILE },
        references: [{ y: 0.5, label: HOSTILE }],
      }),
    );
    for (const theme of ['light', 'dark', 'page'] as const) {
      const svg = chartSvg(model, theme);
      expectWellFormed(svg);
      for (const bad of ['<script', '<img', '\u0000', '\ud800']) expect(svg).not.toContain(bad);
      expect(svg).toContain('&lt;script&gt;');
    }
  });

  it('is stand-alone: no style sheet, script, handler or address but the name space', () => {
    const svg = chartSvg(
      lineChart(
        spec([
          series(
            'a',
            [
              [0, 0.2],
              [1, 0.4],
            ],
            {
              band: [
                [0, 0.1, 0.3],
                [1, 0.2, 0.5],
              ],
            },
          ),
        ]),
      ),
      'dark',
    );
    expect(svg).not.toMatch(/<style|<script|style=|\son\w+=|href|url\(/);
    expect(svg.match(/https?:[^"]*/g)).toEqual(['http://www.w3.org/2000/svg']);
    expect(svg).toContain(CHART_THEMES.dark.background);
    expect(svg).toMatch(/role="img" aria-label="Success on held-out tasks\. /);
  });

  it("takes the page's colours inside a page", () => {
    const svg = chartSvg(
      lineChart(
        spec([
          series(
            'a',
            [
              [0, 0.2],
              [1, 0.4],
            ],
            { color: 7 },
          ),
        ]),
      ),
      'page',
    );
    expect(svg).toContain('stroke="var(--arm-1, #d55e00)"');
  });
});

describe('chartCsv', () => {
  it('holds every point at full precision, with intervals', () => {
    const list = [
      series(
        'a',
        [
          [0, 1 / 3],
          [2, 0.5],
        ],
        { band: [[0, 0.1, 0.4]] },
      ),
      series('b, "c"', [[1, -0.25]]),
    ];
    expect(chartCsv(lineChart(spec(list, { y: loss })))).toBe(
      'Step,a,"a, low","a, high","b, ""c"""\r\n0,0.3333333333333333,0.1,0.4,\r\n1,,,,-0.25\r\n2,0.5,,,\r\n',
    );
  });

  it('lets no label become a formula', () => {
    expect(chartCsv(lineChart(spec([series('=HYPERLINK("http://x")', [[0, 1]])])))).toContain(
      `"'=HYPERLINK(""http://x"")"`,
    );
  });
});
