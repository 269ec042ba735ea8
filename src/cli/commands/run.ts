import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LabError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { readCheckpoint } from '../../lab/checkpointFile.ts';
import { checkSpec } from '../../lab/config.ts';
import { planRun } from '../../lab/memory.ts';
import { runExperiment } from '../../lab/run.ts';
import { methods } from '../../methods/index.ts';
import type { LearnResume, Method, RunSpec } from '../../methods/method.ts';
import { type Backend, GPU_OPTION, openBackend } from '../backend.ts';
import type { Command } from '../command.ts';
import { Recording } from '../recording.ts';
import { writeReport } from '../report.ts';
import { RunFolder, type SeedResult } from '../runFolder.ts';
import { recordRun } from '../seedRun.ts';
import { chooseSpecs, SPEC_OPTIONS } from '../spec.ts';
import { summarise } from '../summary.ts';
import type { Terminal } from '../terminal.ts';
import { type Parsed, UsageError } from '../usage.ts';

/** Runs an experiment: every seed's arms, from traces to figures, into a folder. */
export const run: Command = {
  usage: {
    name: 'run',
    operands: 'METHOD',
    count: [0, 1],
    summary: 'Runs an experiment and writes its folder.',
    options: [
      ...SPEC_OPTIONS,
      GPU_OPTION,
      { name: 'out', value: 'DIR', help: 'folder of the run (default runs/METHOD-PRESET-DATE)' },
      {
        name: 'resume',
        value: 'DIR|FILE',
        help: 'go on with an interrupted run: its folder, or a checkpoint (.safetensors) from elsewhere',
      },
      {
        name: 'record',
        value: 'F.json',
        help: 'also write the stream of the first seed, for the page to play',
      },
    ],
  },
  async run(input, terminal) {
    const { method, specs, folder, from } = choose(input);
    const began = performance.now();
    const startedAt = new Date().toISOString();
    const backend = await openBackend(input.get('gpu'), (line) => terminal.say(line));
    terminal.say(
      `${method.title}, preset ${specs[0]?.preset}, seeds ${specs.map((spec) => spec.seed).join(', ')} → ${folder}`,
    );
    const trainsOn = backend.choice === 'none' ? 'cpu' : 'webgpu';
    const memory = specs[0] ? await planRun(method, specs[0], trainsOn) : null;
    if (memory) terminal.say(memory.text);
    const stop = stopOnSignal(terminal);
    try {
      const record = input.get('record');
      const results = await runSeeds({
        method,
        specs,
        folder,
        from,
        backend,
        terminal,
        signal: stop.signal,
        record,
      });
      if (!results) {
        console.error(
          `Stopped; what was computed is saved. Go on with: npm run lab -- run --resume ${folder}`,
        );
        return 1;
      }
      const arms = summarise(method, results);
      const device = {
        gpu: backend.choice,
        ...results[0]?.device,
        ...(memory && { plannedBytes: memory.bytes }),
      };
      const seconds = (performance.now() - began) / 1000;
      const folders = specs.map((spec) => seedFolder(folder, specs, spec));
      const files = await writeReport(folder, { method, specs, folders, results, arms, startedAt, seconds });
      printArms(terminal, arms);
      terminal.say(`\n${folder}/report.html shows it. ${seconds.toFixed(0)} s.`);
      const seeds = specs.map((spec) => spec.seed);
      terminal.result({
        method: method.id,
        preset: specs[0]?.preset ?? '',
        seeds,
        arms,
        seconds,
        device,
        files,
      } as unknown as Json);
      return 0;
    } finally {
      stop.release();
      await backend.close();
    }
  },
};

/** What to run, and where: from the words given, or from the folder of an interrupted run. */
function choose(input: Parsed): Choice {
  const resume = input.get('resume');
  const fixed = ['arms', 'preset', 'seeds', 'set']
    .filter((name) => input.has(name))
    .map((name) => `--${name}`);
  if (resume !== undefined && (input.operands.length > 0 || fixed.length > 0))
    throw new UsageError(
      `--resume goes on with the run as it was begun; leave out ${[...input.operands, ...fixed].join(', ')}.`,
    );
  if (resume?.endsWith('.safetensors')) return startFrom(resume, input.get('out'));
  if (resume !== undefined) {
    if (input.has('out')) throw new UsageError('--resume DIR goes on in DIR; leave out --out.');
    return { ...readConfig(resume), folder: resume };
  }
  if (input.operands.length === 0) throw new UsageError('run needs a METHOD, or --resume DIR.');
  const { method, specs } = chooseSpecs(input);
  return { method, specs, folder: beginFolder(method, specs, input.get('out')) };
}

interface Choice {
  method: Method;
  specs: RunSpec[];
  folder: string;
  /** A checkpoint from elsewhere that the run goes on from. */
  from?: LearnResume;
}

/** A folder of its own for a run that goes on from a checkpoint made elsewhere. */
function startFrom(path: string, out: string | undefined): Choice {
  if (!existsSync(path)) throw new UsageError(`There is no file ${path}.`);
  const { spec, arm, checkpoint } = readCheckpoint(readFileSync(path), methods);
  const method = methods.find((one) => one.id === spec.method)!;
  return {
    method,
    specs: [spec],
    folder: beginFolder(method, [spec], out),
    from: { finished: [], arm, checkpoint },
  };
}

/** Makes the folder of a new run, with its configuration in it. @throws UsageError where it holds one already. */
function beginFolder(method: Method, specs: readonly RunSpec[], out: string | undefined): string {
  const stamp = new Date().toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
  const folder = out ?? join('runs', `${method.id}-${specs[0]?.preset}-${stamp}`);
  if (existsSync(join(folder, 'config.json')))
    throw new UsageError(
      `${folder} already holds a run. Name another --out, or go on with --resume ${folder}.`,
    );
  mkdirSync(folder, { recursive: true });
  const { seed: _, ...common } = specs[0]!;
  const config = { version: 1, ...common, seeds: specs.map((spec) => spec.seed) };
  writeFileSync(join(folder, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
  return folder;
}

function readConfig(folder: string): { method: Method; specs: RunSpec[] } {
  const path = join(folder, 'config.json');
  if (!existsSync(path)) throw new UsageError(`${folder} holds no run: there is no config.json in it.`);
  try {
    const saved = JSON.parse(readFileSync(path, 'utf8'));
    const method = methods.find((one) => one.id === saved.method);
    if (!method) throw new LabError(`there is no method "${saved.method}"`);
    return { method, specs: saved.seeds.map((seed: unknown) => checkSpec(method, { ...saved, seed })) };
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A run of one seed fills the folder itself; of several, each has a folder of its own inside. */
function seedFolder(folder: string, specs: readonly RunSpec[], { seed }: RunSpec): string {
  return specs.length === 1 ? folder : join(folder, `seed-${seed}`);
}

/** Each seed in turn. Null where it was stopped. */
async function runSeeds(work: {
  method: Method;
  specs: RunSpec[];
  folder: string;
  from: LearnResume | undefined;
  backend: Backend;
  terminal: Terminal;
  signal: AbortSignal;
  /** Where the stream of the first seed is written, if anywhere. */
  record: string | undefined;
}): Promise<SeedResult[] | null> {
  const { method, specs, folder, from, backend, terminal, signal, record } = work;
  const results: SeedResult[] = [];
  for (const [i, spec] of specs.entries()) {
    const place = new RunFolder(seedFolder(folder, specs, spec));
    const done = place.result();
    if (done) {
      results.push(done);
      continue;
    }
    const resume = place.resume();
    const start = resume ? { resume } : from ? { from } : {};
    const events = runExperiment(method, spec, backend.services, start);
    const recording = record && i === 0 ? new Recording(spec) : null;
    const told = recording ? recording.tap(events) : events;
    const result = await recordRun(told, { spec, place, terminal, signal, many: specs.length > 1 });
    if (!result) return null;
    if (record) recording?.write(record);
    results.push(result);
  }
  return results;
}

/** Milliseconds in which a signal counts once: a terminal sends it to the whole group, and npm hands it on again. */
const ONE_SIGNAL = 1000;

/** The first signal asks the run to stop where it is; a second one ends the process. */
function stopOnSignal(terminal: Terminal): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let first = 0;
  const stop = () => {
    if (controller.signal.aborted) {
      if (performance.now() - first > ONE_SIGNAL) process.exit(130);
      return;
    }
    first = performance.now();
    terminal.say('Stopping …');
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
    },
  };
}

function printArms(terminal: Terminal, arms: ReturnType<typeof summarise>): void {
  const metrics = Object.keys(Object.values(arms)[0] ?? {});
  terminal.say('');
  terminal.table(
    ['arm', ...metrics],
    Object.entries(arms).map(([arm, figures]) => [
      arm,
      ...metrics.map((metric) => {
        const figure = figures[metric];
        if (!figure) return '–';
        const { mean, low, high } = figure;
        if (low === null || high === null) return mean.toFixed(3);
        return `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
      }),
    ]),
  );
}
