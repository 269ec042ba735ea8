import { armVariable, CHART_THEMES } from './colours.ts';
import { element, escapeText } from './markup.ts';
import type { ChartModel, DirectLabel, DrawnSeries } from './model.ts';

/** `page`: custom properties of the page around it, with the light colours where it has none. */
export type ChartTheme = 'light' | 'dark' | 'page';

const FONT = 'system-ui, sans-serif';
const SIZE = 12;

interface Ink {
  background: string;
  ink: string;
  soft: string;
  rule: string;
  arm(color: number): string;
}

/**
 * A chart as one stand-alone SVG file. Presentation attributes only: no style sheet, no script, nothing loaded. All text
 * is escaped. With theme `page` there is no background, so that it takes that of the page.
 */
export function chartSvg(model: ChartModel, theme: ChartTheme): string {
  const ink = inkOf(theme);
  const { width, height, plot } = model;
  const parts = [
    `<title>${escapeText(model.title)}</title>`,
    `<desc>${escapeText(model.summary)}</desc>`,
    theme === 'page' ? '' : element('rect', { width, height, fill: ink.background }),
    words(model.title, { x: plot.left, y: 18, fill: ink.ink, 'font-weight': 600, 'font-size': 13 }),
    drawAxes(model, ink),
    ...model.series.map((series) => drawBand(series, ink)),
    ...model.references.map(({ at }) =>
      element('path', {
        d: `M${plot.left},${at}H${plot.right}`,
        stroke: ink.soft,
        'stroke-dasharray': '1 4',
        fill: 'none',
        'stroke-width': 1.5,
      }),
    ),
    ...[...model.series]
      .sort((a, b) => Number(b.thin) - Number(a.thin))
      .map((series) => drawLine(series, ink)),
    ...model.series.map(({ name, color, marker }) =>
      name ? drawName(name, ink.arm(color), ink, marker) : '',
    ),
    ...model.references.map(({ name }) => drawName(name, ink.soft, ink)),
    model.empty
      ? words('No data yet', {
          x: (plot.left + plot.right) / 2,
          y: (plot.top + plot.bottom) / 2,
          fill: ink.soft,
          'text-anchor': 'middle',
        })
      : '',
  ];
  return element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `${model.title}. ${model.summary}`,
      'font-family': FONT,
      'font-size': SIZE,
    },
    parts.join(''),
  );
}

function inkOf(theme: ChartTheme): Ink {
  const colours = CHART_THEMES[theme === 'dark' ? 'dark' : 'light'];
  if (theme !== 'page') return { ...colours, arm: (color) => colours.arms[color]! };
  return {
    background: 'none',
    ink: `var(--ink, ${colours.ink})`,
    soft: `var(--soft, ${colours.soft})`,
    rule: `var(--rule, ${colours.rule})`,
    arm: (color) => `var(${armVariable(color)}, ${colours.arms[color]})`,
  };
}

function drawAxes({ x, y, plot }: ChartModel, ink: Ink): string {
  const middle = (plot.left + plot.right) / 2;
  return [
    ...y.ticks.map(({ at }) => element('path', { d: `M${plot.left},${at}H${plot.right}`, stroke: ink.rule })),
    element('path', { d: `M${plot.left},${plot.bottom}H${plot.right}`, stroke: ink.soft }),
    ...x.ticks.map(({ at }) => element('path', { d: `M${at},${plot.bottom}v5`, stroke: ink.soft })),
    ...y.ticks.map(({ at, label }) =>
      words(label, { x: plot.left - 7, y: at + 4, fill: ink.soft, 'text-anchor': 'end' }),
    ),
    ...x.ticks.map(({ at, label }) =>
      words(label, { x: at, y: plot.bottom + 18, fill: ink.soft, 'text-anchor': 'middle' }),
    ),
    words(x.label, { x: middle, y: plot.bottom + 36, fill: ink.soft, 'text-anchor': 'middle' }),
    words(y.label, {
      transform: `translate(12 ${(plot.top + plot.bottom) / 2}) rotate(-90)`,
      fill: ink.soft,
      'text-anchor': 'middle',
    }),
  ].join('');
}

function drawBand({ band, color }: DrawnSeries, ink: Ink): string {
  return band ? element('path', { d: band, fill: ink.arm(color), 'fill-opacity': 0.18 }) : '';
}

function drawLine({ line, color, thin, dasharray, marker, markers }: DrawnSeries, ink: Ink): string {
  if (!line) return '';
  const stroke: Record<string, string | number> = {
    d: line,
    fill: 'none',
    stroke: ink.arm(color),
    'stroke-width': thin ? 0.8 : 2,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  };
  if (dasharray) stroke['stroke-dasharray'] = dasharray;
  if (thin) stroke['stroke-opacity'] = 0.6;
  const marks = marker
    ? markers.map(({ x, y }) =>
        element('path', { d: marker, transform: `translate(${x} ${y})`, fill: ink.arm(color) }),
      )
    : [];
  return element('path', stroke) + marks.join('');
}

/** A name beside the plot: text in ink, so that it can be read; a line and a marker in the arm's colour. */
function drawName({ text, x, y, fromX, fromY }: DirectLabel, colour: string, ink: Ink, marker = ''): string {
  const leader = element('path', {
    d: `M${fromX},${fromY}L${x - 8},${y}`,
    stroke: colour,
    fill: 'none',
    'stroke-width': 0.8,
  });
  const sign = marker
    ? element('path', { d: marker, transform: `translate(${x - 8} ${y})`, fill: colour })
    : '';
  return leader + sign + words(text, { x, y: y + 4, fill: ink.ink });
}

function words(text: string, attributes: Record<string, string | number>): string {
  return element('text', attributes, escapeText(text));
}
