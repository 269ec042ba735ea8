import { area, line } from 'd3-shape';
import { LabError } from '../base/errors.ts';
import { axisModel, makeScale, round, type Scale } from './chart/axis.ts';
import { armIndex } from './chart/colours.ts';
import { cleanPoints, decimate, isDrawable, placeLabels, spread } from './chart/data.ts';
import type {
  ChartModel,
  ChartSpec,
  Dash,
  DirectLabel,
  DrawnReference,
  DrawnSeries,
  Marker,
  SeriesSpec,
} from './chart/model.ts';
import { shortNumber, summarise, tableOf } from './chart/text.ts';

export { armStyle, armVariable, CHART_THEMES } from './chart/colours.ts';
export type { ChartModel, ChartSpec, DrawnSeries, SeriesSpec } from './chart/model.ts';
export { chartSvg } from './chart/svg.ts';
export { chartCsv } from './chart/text.ts';

/** Mean width of a character of chart text, pixels (estimated: there is no DOM to measure in). */
const CHARACTER = 6.4;
/** Distance of direct labels, baseline to baseline. */
const LABEL_GAP = 15;
/** Where direct labels begin, right of the plot; their marker stands before them. */
const NAME_AT = 20;
/** Markers on one line, so that they mark and do not cover it. */
const MOST_MARKERS = 10;

const DASHARRAYS: Record<Dash, string> = {
  solid: '',
  dashed: '7 4',
  dotted: '2 3',
  dashdot: '8 3 2 3',
  long: '12 5',
};

/** Paths of markers round (0, 0), about 8 pixels across. */
const MARKERS: Record<Marker, string> = {
  circle: 'M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0Z',
  square: 'M-3.2,-3.2H3.2V3.2H-3.2Z',
  triangle: 'M0,-4.2L4,3.2H-4Z',
  diamond: 'M0,-4.5L4.5,0L0,4.5L-4.5,0Z',
  cross: 'M-4,-2.2L-2.2,-4L0,-1.8L2.2,-4L4,-2.2L1.8,0L4,2.2L2.2,4L0,1.8L-2.2,4L-4,2.2L-1.8,0Z',
  none: '',
};

/**
 * Lays out a line chart: lines with direct labels, interval bands, thin lines for single seeds, dotted references with
 * their source. Rates stand on an axis from 0 to 1. Thousands of points are thinned to what the pixels can show.
 * @throws LabError where width or height leave no room to draw.
 */
export function lineChart(spec: ChartSpec): ChartModel {
  const plot = plotArea(spec);
  const cleaned = spec.series.map((series) => ({ ...cleanPoints(series.points), ...cleanBand(series) }));
  const points = cleaned.flatMap(({ segments }) => segments.flat());
  const bands = cleaned.flatMap(({ interval }) => interval);
  const references = spec.references.filter(({ y }) => isDrawable(y));
  const xs = [...points, ...bands].map((point) => point[0]);
  const ys = [
    ...points.map((point) => point[1]),
    ...bands.flatMap(([, low, high]) => [low, high]),
    ...references.map(({ y }) => y),
  ];
  const rate = spec.y.rate ?? false;
  const x = makeScale(xs, [plot.left, plot.right], { nice: false, rate: false });
  const y = makeScale(ys, [plot.bottom, plot.top], { nice: true, rate });
  const series = spec.series.map((one, i) => drawSeries(one, cleaned[i]!, x, y));
  const omitted =
    cleaned.reduce((sum, one) => sum + one.omitted + one.bandOmitted, 0) +
    spec.references.length -
    references.length;
  const drawnReferences = references.map(({ y: at, label }): DrawnReference => {
    const pixel = round(y(at));
    const text = `${label}: ${shortNumber(at)}`;
    return {
      y: at,
      at: pixel,
      name: { text, x: plot.right + NAME_AT, y: pixel, fromX: plot.right, fromY: pixel },
    };
  });
  spaceLabels(
    [...series.flatMap(({ name }) => name ?? []), ...drawnReferences.map(({ name }) => name)],
    plot,
    spec.width,
  );
  return {
    title: spec.title,
    summary: summarise(spec, series, omitted),
    width: spec.width,
    height: spec.height,
    plot,
    x: axisModel(spec.x, x, 'x', xs.every(Number.isInteger)),
    y: axisModel(spec.y, y, 'y', false),
    series,
    references: drawnReferences,
    table: tableOf(spec, series),
    omitted,
    empty: points.length === 0,
  };
}

/** The value on the x axis under a pixel. */
export function xAt(model: ChartModel, pixel: number): number {
  const [from, to] = model.x.range;
  const [low, high] = model.x.domain;
  return low + ((pixel - from) / (to - from)) * (high - low);
}

/** What each named series has at the point nearest to `x`, for showing one step on all charts. */
export function valuesAt(
  model: ChartModel,
  x: number,
): { series: DrawnSeries; x: number; y: number; text: string }[] {
  return model.series.flatMap((series) => {
    if (series.thin || series.points.length === 0) return [];
    const [at, y] = nearestPoint(series.points, x);
    return [{ series, x: at, y, text: shortNumber(y) }];
  });
}

function nearestPoint(points: readonly [number, number][], x: number): [number, number] {
  let from = 0;
  let to = points.length - 1;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (points[middle]![0] < x) from = middle + 1;
    else to = middle;
  }
  const before = points[from - 1];
  const here = points[from]!;
  return before && x - before[0] < here[0] - x ? before : here;
}

function plotArea(spec: ChartSpec): ChartModel['plot'] {
  const named = spec.series.filter((series) => !series.thin).map((series) => series.label.length);
  const longest = Math.max(
    0,
    ...named,
    ...spec.references.map(({ y, label }) => `${label}: ${shortNumber(y)}`.length),
  );
  const margin = Math.min(longest * CHARACTER + NAME_AT + 4, spec.width * 0.36);
  const plot = {
    left: 52,
    top: 30,
    right: round(spec.width - Math.max(14, margin)),
    bottom: spec.height - 44,
  };
  if (!(plot.right - plot.left >= 40 && plot.bottom - plot.top >= 40)) {
    throw new LabError(`${spec.width} × ${spec.height} pixels leave no room for a chart`, {
      where: spec.title,
      remedy: 'Give at least 160 × 120 pixels.',
    });
  }
  return plot;
}

function cleanBand(series: SeriesSpec): { interval: DrawnSeries['interval']; bandOmitted: number } {
  const band = series.band ?? [];
  const interval = band.filter((entry) => entry.every(isDrawable)).sort((a, b) => a[0] - b[0]);
  return { interval, bandOmitted: band.length - interval.length };
}

function drawSeries(
  series: SeriesSpec,
  { segments, interval }: { segments: [number, number][][]; interval: DrawnSeries['interval'] },
  x: Scale,
  y: Scale,
): DrawnSeries {
  const path = line<[number, number]>(
    (p) => x(p[0]),
    (p) => y(p[1]),
  ).digits(1);
  const filled = area<[number, number, number]>()
    .x((p) => x(p[0]))
    .y0((p) => y(p[1]))
    .y1((p) => y(p[2]))
    .digits(1);
  const points = segments.flat();
  const last = points.at(-1);
  const end = last && { x: round(x(last[0])), y: round(y(last[1])) };
  const thin = series.thin ?? false;
  const [from, to] = x.range() as [number, number];
  return {
    id: series.id,
    label: series.label,
    color: armIndex(series.color),
    thin,
    dasharray: DASHARRAYS[series.dash],
    line: segments.map((segment) => path(decimate(segment, x)) ?? '').join(''),
    band: interval.length > 1 ? (filled(spread(interval, Math.ceil(to - from))) ?? '') : '',
    marker: thin ? '' : MARKERS[series.marker],
    markers: thin
      ? []
      : spread(points, MOST_MARKERS).map(([px, py]) => ({ x: round(x(px)), y: round(y(py)) })),
    name: end && !thin ? { text: series.label, x: to + NAME_AT, y: end.y, fromX: end.x, fromY: end.y } : null,
    points,
    interval,
  };
}

/** Moves labels apart and cuts those that do not fit beside the plot. */
function spaceLabels(labels: DirectLabel[], plot: ChartModel['plot'], width: number): void {
  const places = placeLabels(
    labels.map(({ fromY }) => fromY),
    LABEL_GAP,
    plot.top,
    plot.bottom,
  );
  const room = Math.floor((width - plot.right - NAME_AT) / CHARACTER);
  for (const [i, label] of labels.entries()) {
    label.y = round(places[i]!);
    if (label.text.length > room) label.text = `${label.text.slice(0, Math.max(1, room - 1))}…`;
  }
}
