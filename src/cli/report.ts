import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../base/json.ts';
import type { SeriesSpec } from '../lab/chart/model.ts';
import { lineChart } from '../lab/chart.ts';
import { encodeLink } from '../lab/link.ts';
import { type Fact, type ReportInput, report, settingsOf } from '../lab/report.ts';
import type { Method, RunSpec } from '../methods/method.ts';
import type { Task } from '../task/model.ts';
import type { MetricRow, SeedResult } from './runFolder.ts';
import type { Figure } from './summary.ts';

/** A finished run, with the folder of each seed. */
export interface Finished {
  method: Method;
  specs: readonly RunSpec[];
  folders: readonly string[];
  results: readonly SeedResult[];
  arms: Record<string, Record<string, Figure>>;
  startedAt: string;
  seconds: number;
}

const FILES = [
  'config.json',
  'metrics.jsonl',
  'metrics.json',
  'dataset.jsonl',
  'policy.safetensors',
  'policy.onnx',
];
/** Tasks of the first seed that the report shows. */
const SAMPLES = 6;
const CHART = { width: 640, height: 320 };

/** Writes report.html into the run's folder. @returns paths of all files of the run, the report first. */
export async function writeReport(folder: string, run: Finished): Promise<string[]> {
  const files = [...new Set([folder, ...run.folders])].flatMap((place) =>
    FILES.map((name) => join(place, name)).filter((path) => existsSync(path)),
  );
  const path = join(folder, 'report.html');
  writeFileSync(path, report(await inputOf(run, files)));
  return [path, ...files];
}

async function inputOf(run: Finished, files: readonly string[]): Promise<ReportInput> {
  const { method, specs, results, arms } = run;
  const [spec] = specs as [RunSpec, ...RunSpec[]];
  const [first] = results as [SeedResult, ...SeedResult[]];
  return {
    title: `${method.title}, ${spec.preset}`,
    question: method.question,
    method: method.id,
    preset: spec.preset,
    seeds: specs.map(({ seed }) => seed),
    settings: settingsOf(method, spec),
    arms: method.arms
      .filter(({ id }) => arms[id])
      .map(({ id, title, description }) => ({
        title,
        description,
        metrics: metricsOf(method, arms[id] ?? {}),
      })),
    claims: [],
    charts: chartsOf(run),
    taskSet: first.summary.taskSet,
    samples: samplesOf(run.folders[0] ?? ''),
    device: (first.device ?? {}) as unknown as Json,
    startedAt: run.startedAt,
    finishedAt: new Date().toISOString(),
    seconds: run.seconds,
    link: await encodeLink(method, spec, 'http://localhost:4173/'),
    origin: files.map(hashOf),
    notes: [],
  };
}

function metricsOf(method: Method, figures: Record<string, Figure>): ReportInput['arms'][number]['metrics'] {
  return method.metrics.flatMap(({ id, title, unit }) => {
    const figure = figures[id];
    if (!figure) return [];
    const { mean, low, high, values } = figure;
    return [{ label: title, unit, mean, low, high, values }];
  });
}

/** Loss and success over steps: thin lines for single seeds. */
function chartsOf({ method, specs, folders }: Finished) {
  const rows = folders.map((folder) => readRows(join(folder, 'metrics.jsonl')));
  const lines = (value: (row: MetricRow) => number | undefined): SeriesSpec[] =>
    method.arms.flatMap((arm, color) =>
      rows.flatMap((seedRows, s) => {
        const points = seedRows
          .filter((row) => row.arm === arm.id)
          .flatMap((row): [number, number][] => {
            const y = value(row);
            return y === undefined ? [] : [[row.step, y]];
          });
        if (points.length === 0) return [];
        const label = specs.length > 1 ? `${arm.title}, seed ${specs[s]?.seed}` : arm.title;
        return [
          {
            id: `${arm.id}-${s}`,
            label,
            color,
            dash: 'solid',
            marker: points.length < 40 ? 'circle' : 'none',
            points,
            thin: specs.length > 1,
          } satisfies SeriesSpec,
        ];
      }),
    );
  const x = { label: 'training step', unit: '' };
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
  return [
    lineChart({
      ...CHART,
      x,
      references: [],
      title: 'Success on unseen tasks while training',
      y: { label: 'success', unit: '', rate: true },
      series: lines((row) => number((row.success as { mean?: unknown } | undefined)?.mean)),
    }),
    lineChart({
      ...CHART,
      x,
      references: [],
      title: 'Training loss',
      y: { label: 'loss', unit: 'nats a token' },
      series: lines((row) => number(row.loss)),
    }),
  ];
}

function readRows(path: string): MetricRow[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as MetricRow);
}

function samplesOf(folder: string): ReportInput['samples'] {
  const path = join(folder, 'dataset.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean).slice(0, SAMPLES);
  return lines.map((line) => {
    const { task } = JSON.parse(line) as { task: Task };
    const { state, trace, out } = task.assertions;
    return {
      text: task.text,
      calls: task.chain.map(
        ({ tool, args, observation }) =>
          `${tool} ${JSON.stringify(args)} → ${JSON.stringify(observation.ok ? observation.value : observation.error)}`,
      ),
      assertions: [
        ...state.map(
          ({ table, id, fields }) => `V_state: ${table} ${id} ${fields ? JSON.stringify(fields) : 'is gone'}`,
        ),
        ...trace.map(
          ({ call, changes }) =>
            `V_trace: call ${call + 1} changes ${changes.map(({ table, id }) => `${table} ${id}`).join(', ')}`,
        ),
        ...out.map(({ value }) => `V_out: ${JSON.stringify(value)}`),
      ],
    };
  });
}

function hashOf(path: string): Fact {
  return { label: path, value: `sha256 ${createHash('sha256').update(readFileSync(path)).digest('hex')}` };
}
