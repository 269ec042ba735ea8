import type { Json } from '../../base/json.ts';
import { type LabDevice, openDevice } from '../../gpu/device.ts';
import { describeDevice } from '../../lab/bench/here.ts';
import { PEERS, type PeerName } from '../../lab/bench/peers/peer.ts';
import { PLANS, type PlanName } from '../../lab/bench/plan.ts';
import type { BenchRow } from '../../lab/bench/row.ts';
import { type BenchTable, emptyTable } from '../../lab/bench/table.ts';
import { benchEngine } from '../bench/engine.ts';
import { benchTraces } from '../bench/traces.ts';
import { benchWorlds } from '../bench/worlds.ts';
import type { Command } from '../command.ts';
import { openDawn } from '../dawn.ts';
import type { Terminal } from '../terminal.ts';
import { type Parsed, suggest, UsageError } from '../usage.ts';

const SUITES = ['trace', 'worlds', 'engine'] as const;
type Suite = (typeof SUITES)[number];

/** Measures the lab on this machine. */
export const bench: Command = {
  usage: {
    name: 'bench',
    operands: '[trace|worlds|engine]',
    count: [0, 1],
    summary: 'Measures mining, replay, training and sampling on this machine.',
    options: [
      {
        name: 'gpu',
        value: 'dawn|none',
        help: 'where the engine is measured (default: dawn where it works)',
      },
      {
        name: 'size',
        value: Object.keys(PLANS).join('|'),
        help: 'how much of the engine is measured (default: full)',
      },
      {
        name: 'against',
        value: PEERS.join(','),
        help: 'libraries that do the same training and sampling, in the same run on the same device',
      },
    ],
  },
  async run(input, terminal) {
    const suites = chooseSuites(input.operands[0]);
    const against = chooseLibraries(input, suites);
    const size = chooseSize(input.get('size'));
    const { device, gpu } = await chooseDevice(input, suites, terminal);
    try {
      const rows: BenchRow[] = [];
      let engine: BenchTable | null = null;
      for (const suite of suites) {
        if (suite === 'trace') rows.push(...(await benchTraces()));
        else if (suite === 'worlds') rows.push(...(await benchWorlds()));
        else {
          engine = await benchEngine(device, gpu, against, terminal, PLANS[size]);
          rows.push(...engine.rows);
        }
      }
      show(rows, terminal);
      if (engine) terminal.say(`\nEngine on: ${engine.device?.name}`);
      terminal.result({
        ...(engine ?? emptyTable(new Date().toISOString(), `Node.js ${process.version}`)),
        device: describeDevice(device),
        rows,
      } as unknown as Json);
      return 0;
    } finally {
      device?.destroy();
    }
  },
};

function show(rows: readonly BenchRow[], terminal: Terminal): void {
  const names = PEERS.filter((name) => rows.some((row) => row.against[name]));
  for (const group of new Set(rows.map((row) => row.group))) {
    terminal.say(`\n${group}`);
    const own = rows.filter((row) => row.group === group);
    const floors = own.some((row) => row.floors);
    terminal.table(
      [
        'what',
        'measured',
        'unit',
        'floor',
        'share',
        ...(floors ? ['arithmetic', 'bytes', 'dispatches'] : []),
        ...(own.some((row) => Object.keys(row.against).length > 0)
          ? names.flatMap((name) => [name, 'ours is'])
          : []),
      ],
      own.map((row) => [
        row.name,
        figure(row.value),
        row.unit,
        optional(row.floor),
        row.share === null ? '' : row.share.toFixed(2),
        ...(floors
          ? [optional(row.floors?.arithmetic), optional(row.floors?.bytes), row.dispatches ?? '']
          : []),
        ...(own.some((one) => Object.keys(one.against).length > 0)
          ? names.flatMap((name) => {
              const { value, ratio } = row.against[name] ?? {};
              return [optional(value), ratio === undefined ? '' : `${ratio.toFixed(2)}×`];
            })
          : []),
      ]),
    );
    for (const row of own)
      for (const [name, { note }] of Object.entries(row.against))
        if (note) terminal.say(`${name}, ${row.name}: ${note}`);
  }
}

function chooseSuites(word: string | undefined): readonly Suite[] {
  if (word === undefined) return SUITES;
  const suite = SUITES.find((one) => one === word);
  if (!suite) throw new UsageError(`There is no benchmark "${word}". ${suggest(word, SUITES)}`);
  return [suite];
}

function chooseSize(word = 'full'): PlanName {
  const names = Object.keys(PLANS) as PlanName[];
  const name = names.find((one) => one === word);
  if (!name) throw new UsageError(`--size takes ${names.join(', ')}; got "${word}".`);
  return name;
}

function chooseLibraries(input: Parsed, suites: readonly Suite[]): PeerName[] {
  const words = input.all('against').flatMap((value) => value.split(',').filter(Boolean));
  if (words.length > 0 && !suites.includes('engine'))
    throw new UsageError('--against compares the engine: use it with "bench engine".');
  const names = words.map((word) => {
    const name = PEERS.find((one) => one === word);
    if (!name) throw new UsageError(`There is no library "${word}" to compare. ${suggest(word, PEERS)}`);
    return name;
  });
  return [...new Set(names)];
}

/** Dawn's device and GPU object; both `null` where the processor is measured. */
async function chooseDevice(
  input: Parsed,
  suites: readonly Suite[],
  terminal: Terminal,
): Promise<{ device: LabDevice | null; gpu: GPU | null }> {
  const wanted = input.get('gpu');
  if (wanted !== undefined && wanted !== 'dawn' && wanted !== 'none')
    throw new UsageError(`bench takes --gpu dawn or none; got "${wanted}".`);
  if (!suites.includes('engine') || wanted === 'none') return { device: null, gpu: null };
  try {
    const gpu = await openDawn();
    return { device: await openDevice(gpu), gpu };
  } catch (error) {
    if (wanted === 'dawn') throw error;
    terminal.say(`no GPU through Dawn: ${error instanceof Error ? error.message : String(error)}`);
    return { device: null, gpu: null };
  }
}

const figure = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
const optional = (value: number | null | undefined) =>
  value === null || value === undefined ? '' : figure(value);
