import { isObject, type Json } from '../base/json.ts';
import type { Method, PresetId, RunSpec } from '../methods/method.ts';
import type { ChartModel } from './chart/model.ts';
import { chartSvg } from './chart/svg.ts';
import { shortNumber } from './chart/text.ts';
import { configDiff } from './config.ts';
import { type Cell, html, reportStyle, safeAddress, table } from './report/markup.ts';

/** One line of a list of facts. */
export interface Fact {
  label: string;
  value: string;
}

/** A figure of one arm: its mean over seeds with a 95% interval, and the value of each seed in the order of `seeds`. */
export interface ReportMetric {
  label: string;
  unit: string;
  mean: number;
  /** `null` where one seed gives no interval. */
  low: number | null;
  high: number | null;
  values: number[];
}

/** Everything that a report shows. Plain data: command line and page both fill it; all text is shown as text. */
export interface ReportInput {
  title: string;
  /** What was asked, in a sentence or two. */
  question: string;
  method: string;
  preset: string;
  seeds: number[];
  /** Every setting with its value and unit; `changed` where it differs from the preset. `settingsOf` makes them. */
  settings: { label: string; value: string; changed: boolean }[];
  arms: { title: string; description: string; metrics: ReportMetric[] }[];
  /** Claims with verdict and evidence, as `describeVerdict` words them. */
  claims: { statement: string; verdict: string; paper: string }[];
  charts: ChartModel[];
  taskSet: { hash: string; train: number; heldOut: number; rejected: number } | null;
  /** A few tasks to read: the request, one call a line, one assertion a line. */
  samples: { text: string; calls: string[]; assertions: string[] }[];
  /** As the policy reported it: backend, name, limits, features. */
  device: Json;
  /** ISO 8601; `null` where it is not over. */
  startedAt: string;
  finishedAt: string | null;
  seconds: number;
  /** Address that reproduces the run; empty where there is none. */
  link: string;
  /** Version of the lab, hashes of the files beside the report, and the like. */
  origin: Fact[];
  /** What the reader must know, as "stopped after 120 of 300 steps". */
  notes: string[];
}

/** The settings of a run in the words of its controls, for `ReportInput.settings`. @throws LabError as `configDiff`. */
export function settingsOf(
  method: Pick<Method, 'id' | 'title' | 'controls' | 'presets' | 'arms'>,
  spec: { preset: PresetId; config: RunSpec['config'] },
): ReportInput['settings'] {
  const changed = configDiff(method, spec.preset, spec.config);
  return method.controls.map((control) => {
    const value = spec.config[control.key];
    const choice =
      control.kind === 'choice' ? control.choices.find((one) => one.value === value)?.label : undefined;
    const unit = control.kind !== 'choice' && control.unit ? ` ${control.unit}` : '';
    return {
      label: control.label,
      value: `${choice ?? value}${unit}`,
      changed: Object.hasOwn(changed, control.key),
    };
  });
}

/**
 * A run as one HTML file: opens offline, loads nothing, runs no script (its own content policy forbids both), light and
 * dark as the reader's system is. Charts are inside as SVG, each with its table. All text is escaped.
 */
export function report(run: ReportInput): string {
  const body = [
    html`<header><h1>${run.title}</h1><p class="question">${run.question}</p></header>`,
    run.notes.length > 0
      ? html`<ul class="notes">${run.notes.map((note) => html`<li>${note}</li>`)}</ul>`
      : '',
    section('Results', [metricTable(run)]),
    run.claims.length > 0 ? section('Claims', [claimTable(run)]) : '',
    run.charts.length > 0 ? section('Charts', run.charts.map(figure)) : '',
    section('Configuration', [factList(runFacts(run)), settingTable(run)]),
    section('Tasks', [taskFacts(run), ...run.samples.map(sample)]),
    section('Device', [factList(deviceFacts(run.device))]),
    section('Origin', [factList([...dateFacts(run), ...run.origin])]),
  ];
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Rollout Lab">
<title>${run.title}</title>
<style>${reportStyle()}</style>
</head>
<body>
${body}
</body>
</html>
`);
}

function section(title: string, content: Cell[]): Cell {
  return html`<section><h2>${title}</h2>${content}</section>`;
}

function metricTable(run: ReportInput): Cell {
  const labels = [
    ...new Set(run.arms.flatMap((arm) => arm.metrics.map(({ label, unit }) => named(label, unit)))),
  ];
  if (labels.length === 0) return html`<p>No arm has been evaluated yet.</p>`;
  const rows = run.arms.map((arm) => [
    html`<strong>${arm.title}</strong><br><small>${arm.description}</small>`,
    ...labels.map((label) => {
      const metric = arm.metrics.find((one) => named(one.label, one.unit) === label);
      return metric ? metricCell(metric, run.seeds) : 'not measured';
    }),
  ]);
  const several = run.seeds.length > 1;
  const caption = several
    ? 'Mean over seeds [95% interval]; below it the value of each seed.'
    : 'One seed: the interval, where there is one, is over its tasks.';
  return table(['Arm', ...labels], rows, caption);
}

function metricCell({ mean, low, high, values }: ReportMetric, seeds: readonly number[]): Cell {
  const interval = low === null || high === null ? '' : ` [${shortNumber(low)}, ${shortNumber(high)}]`;
  const single = values.map(
    (value, i) => `${seeds[i] === undefined ? '' : `seed ${seeds[i]}: `}${shortNumber(value)}`,
  );
  return html`${shortNumber(mean)}${interval}${values.length > 1 ? html`<br><small>${single.join(', ')}</small>` : ''}`;
}

function claimTable(run: ReportInput): Cell {
  return table(
    ['Claim', 'Verdict', 'Paper'],
    run.claims.map(({ statement, verdict, paper }) => [statement, verdict, paper]),
  );
}

function figure(model: ChartModel): Cell {
  const { header, rows, of } = model.table;
  const shown = rows.length < of ? ` (${rows.length} of ${of} rows)` : '';
  return html`<figure>${html.raw(chartSvg(model, 'page'))}<figcaption>${model.summary}</figcaption>
<details><summary>Table${shown}</summary>${table(header, rows)}</details></figure>`;
}

function settingTable(run: ReportInput): Cell {
  const rows = run.settings.map(({ label, value, changed }) => [
    label,
    changed ? html`<strong>${value}</strong>` : value,
    changed ? 'changed' : 'as in the preset',
  ]);
  return table(['Setting', 'Value', `Preset ${run.preset}`], rows);
}

function runFacts(run: ReportInput): Fact[] {
  return [
    { label: 'Method', value: run.method },
    { label: 'Preset', value: run.preset },
    { label: run.seeds.length === 1 ? 'Seed' : 'Seeds', value: run.seeds.join(', ') },
    { label: 'Arms', value: run.arms.map((arm) => arm.title).join(', ') },
  ];
}

function taskFacts({ taskSet }: ReportInput): Cell {
  if (!taskSet) return html`<p>No tasks have been made yet.</p>`;
  return factList([
    { label: 'Training tasks', value: String(taskSet.train) },
    { label: 'Held-out tasks', value: String(taskSet.heldOut) },
    { label: 'Rejected by the verifier', value: String(taskSet.rejected) },
    { label: 'Hash of the task set', value: taskSet.hash },
  ]);
}

function sample({ text, calls, assertions }: ReportInput['samples'][number]): Cell {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0
      ? ''
      : html`<p>${title}</p><ol>${items.map((item) => html`<li><code>${item}</code></li>`)}</ol>`;
  return html`<article><blockquote>${text}</blockquote>${list('One way to do it', calls)}${list('What must hold', assertions)}</article>`;
}

function deviceFacts(device: Json): Fact[] {
  if (!isObject(device)) return [{ label: 'Device', value: 'not known yet' }];
  return Object.entries(device).map(([label, value]) => ({ label, value: plain(value) }));
}

function plain(value: Json): string {
  if (Array.isArray(value)) return value.map(plain).join(', ') || 'none';
  if (!isObject(value)) return String(value);
  return (
    Object.entries(value)
      .map(([key, item]) => `${key} ${plain(item)}`)
      .join(', ') || 'none'
  );
}

function dateFacts(run: ReportInput): Fact[] {
  return [
    { label: 'Started', value: run.startedAt },
    { label: 'Finished', value: run.finishedAt ?? 'not finished' },
    { label: 'Duration', value: `${shortNumber(run.seconds)} s` },
    ...(run.link ? [{ label: 'Link that reproduces it', value: run.link }] : []),
  ];
}

function factList(facts: readonly Fact[]): Cell {
  const shown = (value: string) =>
    safeAddress(value) ? html`<a href="${value}" rel="noreferrer">${value}</a>` : value;
  return html`<dl>${facts.map(({ label, value }) => html`<dt>${label}</dt><dd>${shown(value)}</dd>`)}</dl>`;
}

function named(label: string, unit: string): string {
  return unit ? `${label} (${unit})` : label;
}
