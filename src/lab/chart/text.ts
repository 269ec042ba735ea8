import { axisLabel } from './axis.ts';
import { spread } from './data.ts';
import type { ChartModel, ChartSpec, DrawnSeries } from './model.ts';

/** Most rows of the table beside a chart; the CSV has them all. */
export const TABLE_ROWS = 60;

/** A number for reading: whole numbers as they are, others to four significant digits, with a true minus sign. */
export function shortNumber(value: number): string {
  const text = String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(4)));
  return text.replace('-', '−').replace('e−', 'e-');
}

/** "Success (share) by step. Graph ends at 0.62 [0.5, 0.7]; random at 0.31." */
export function summarise(spec: ChartSpec, series: readonly DrawnSeries[], omitted: number): string {
  const named = series.filter((one) => !one.thin && one.points.length > 0);
  const ends = named.map((one) => {
    const [x, y] = one.points.at(-1)!;
    const interval = one.interval.findLast((entry) => entry[0] === x);
    const range = interval ? ` [${shortNumber(interval[1])}, ${shortNumber(interval[2])}]` : '';
    return `${one.label} ends at ${shortNumber(y)}${range}`;
  });
  const drawn = series.some((one) => one.points.length > 0);
  const what = `${axisLabel(spec.y)} by ${axisLabel(spec.x)}`;
  const references = spec.references.map(({ y, label }) => `${label}: ${shortNumber(y)}`);
  const told = spec.summary?.trim().replace(/\.$/, '');
  const parts = told ? [told] : [drawn ? what : `${what}: no data yet`];
  if (!told && ends.length > 0) parts.push(ends.join('; '));
  if (!told && references.length > 0) parts.push(references.join('; '));
  if (omitted > 0)
    parts.push(`${omitted} ${omitted === 1 ? 'value is' : 'values are'} not finite and left out`);
  return `${parts.join('. ')}.`;
}

/** Header and all rows of the data, one row an x value; empty cells where a series has none there. */
export function tabulate(
  spec: Pick<ChartSpec, 'x'>,
  series: readonly DrawnSeries[],
): { header: string[]; rows: (number | null)[][] } {
  const header = [axisLabel(spec.x)];
  const columns: Map<number, number>[] = [];
  for (const one of series) {
    header.push(one.label);
    columns.push(new Map(one.points));
    if (one.interval.length === 0) continue;
    header.push(`${one.label}, low`, `${one.label}, high`);
    columns.push(
      new Map(one.interval.map(([x, low]) => [x, low])),
      new Map(one.interval.map(([x, , high]) => [x, high])),
    );
  }
  const xs = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b);
  return { header, rows: xs.map((x) => [x, ...columns.map((column) => column.get(x) ?? null)]) };
}

/** The table beside a chart, as text. */
export function tableOf(spec: ChartSpec, series: readonly DrawnSeries[]): ChartModel['table'] {
  const { header, rows } = tabulate(spec, series);
  const shown = spread(rows, TABLE_ROWS).map((row) =>
    row.map((value) => (value === null ? '' : shortNumber(value))),
  );
  return { header, rows: shown, of: rows.length };
}

/**
 * The chart's data as CSV (RFC 4180), every point, full precision. Labels that a spreadsheet would run as a formula get
 * an apostrophe in front.
 */
export function chartCsv(model: ChartModel): string {
  const { header, rows } = tabulate({ x: { label: model.x.label, unit: '' } }, model.series);
  const lines = [
    header.map(csvText),
    ...rows.map((row) => row.map((value) => (value === null ? '' : String(value)))),
  ];
  return `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}

function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
