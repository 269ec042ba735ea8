import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChartSpec, lineChart } from '../../src/lab/chart.ts';
import { normaliseConfig } from '../../src/lab/config.ts';
import { type ReportInput, report, settingsOf } from '../../src/lab/report.ts';
import { SAMPLE } from './sample-method.ts';

const chart = (title: string, label: string): ChartSpec => ({
  title,
  x: { label: 'Step', unit: '' },
  y: { label: 'Success', unit: 'share', rate: true },
  series: [
    {
      id: 'graph',
      label,
      color: 0,
      dash: 'solid',
      marker: 'circle',
      points: [
        [0, 0.1],
        [100, 0.6],
      ],
      band: [
        [0, 0, 0.2],
        [100, 0.5, 0.7],
      ],
    },
  ],
  references: [],
  width: 640,
  height: 320,
});

/** A report with `text` in every place that takes text. */
const input = (text: string): ReportInput => ({
  title: text,
  question: text,
  method: text,
  preset: text,
  seeds: [1, 2],
  settings: [{ label: text, value: text, changed: true }],
  arms: [
    {
      title: text,
      description: text,
      metrics: [{ label: text, unit: text, mean: 0.5, low: 0.4, high: 0.6, values: [0.45, 0.55] }],
    },
  ],
  claims: [{ statement: text, verdict: text, paper: text }],
  charts: [lineChart(chart(text, text))],
  taskSet: { hash: text, train: 80, heldOut: 20, rejected: 3 },
  samples: [{ text, calls: [text], assertions: [text] }],
  device: { backend: text, [text]: [text], limits: { [text]: 4 } },
  startedAt: text,
  finishedAt: text,
  seconds: 12.5,
  link: text,
  origin: [{ label: text, value: text }],
  notes: [text],
});

const tagsOf = (page: string) => [...page.matchAll(/<\/?([a-z][a-z0-9]*)/gi)].map((match) => match[1]);

/** Every start tag with its attributes, in double quotes only. */
const TAG = /<(?:!doctype html|\/?[a-z][a-z0-9]*(?:\s[a-zA-Z:-]+="[^"<>]*")*\/?)>/g;

const withoutStyle = (page: string) => page.replace(/<style>[^<]*<\/style>/, '');

describe('report', () => {
  it('shows results, seeds, configuration, tasks, device and dates', () => {
    const page = report({
      ...input('text'),
      title: 'ToolSpace, micro',
      settings: settingsOf(SAMPLE, {
        preset: 'micro',
        config: normaliseConfig(SAMPLE, 'micro', { batch: 64, masking: 'all & more' }),
      }),
      link: 'https://lab.example/#/toolspace?v=1&seed=3',
      device: {
        backend: 'webgpu',
        name: 'google swiftshader',
        limits: { maxBufferSize: 268435456 },
        features: [],
      },
    });
    for (const piece of [
      '<title>ToolSpace, micro</title>',
      '0.5 [0.4, 0.6]',
      'seed 1: 0.45, seed 2: 0.55',
      '<strong>64 tasks</strong>',
      '<strong>all turns</strong>',
      '<td>0.003</td><td>as in the preset</td>',
      'google swiftshader',
      'maxBufferSize 268435456',
      'href="https://lab.example/#/toolspace?v=1&amp;seed=3"',
      '12.5 s',
      '<svg xmlns',
    ]) {
      expect(page).toContain(piece);
    }
  });

  it('loads nothing and runs nothing', () => {
    const page = report(input('text'));
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/<script|<link|<iframe|<img|\son\w+=|@import|url\(|src=/);
    expect([...page.matchAll(/https?:\/\/[^"\s]*/g)].map(([address]) => address)).toEqual([
      'http://www.w3.org/2000/svg',
    ]);
  });

  it('is light and dark as the system is, with a colour for every arm in both', () => {
    const page = report(input('text'));
    expect(page).toMatch(/:root\{color-scheme:light dark;.*--arm-0:#0072b2;/);
    expect(page).toMatch(/@media \(prefers-color-scheme:dark\)\{:root\{.*--arm-0:#56b4e9;/);
    expect(page).toContain('var(--arm-0, #0072b2)');
  });

  it('takes any text as text', () => {
    const plain = report(input('text'));
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom(
        '"><script>alert(1)</script>',
        "' onload='alert(1)",
        '</style><script>',
        '</title><img src=x onerror=alert(1)>',
        'javascript:alert(1)',
        'https://x/" onclick="y',
        ']]>-->',
        '&lt;script&gt;',
      ),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        const page = report(input(text));
        expect(tagsOf(withoutStyle(page)).filter((tag) => tag !== 'a')).toEqual(
          tagsOf(withoutStyle(plain)).filter((tag) => tag !== 'a'),
        );
        expect(withoutStyle(page).replace(TAG, '')).not.toMatch(/[<>]/);
        expect(page).not.toMatch(/href="(?!https?:)/);
      }),
    );
  });

  it('makes links of web addresses only', () => {
    expect(report({ ...input('text'), link: 'javascript:alert(1)' })).not.toContain('href');
    expect(report({ ...input('text'), link: 'file:///etc/passwd' })).not.toContain('href');
  });

  it('says what is missing', () => {
    const page = report({
      ...input('text'),
      arms: [],
      claims: [],
      charts: [],
      taskSet: null,
      samples: [],
      device: null,
      finishedAt: null,
      notes: [],
      link: '',
    });
    for (const piece of [
      'No arm has been evaluated yet.',
      'No tasks have been made yet.',
      'not known yet',
      'not finished',
    ])
      expect(page).toContain(piece);
    expect(page).not.toContain('<h2>Claims</h2>');
  });
});
