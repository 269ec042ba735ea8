import type { Json } from '../../base/json.ts';
import { openDevice } from '../../gpu/device.ts';
import { benchEngine } from '../bench/engine.ts';
import type { BenchRow } from '../bench/row.ts';
import { benchTraces } from '../bench/traces.ts';
import { benchWorlds } from '../bench/worlds.ts';
import type { Command } from '../command.ts';
import { openDawn } from '../dawn.ts';
import { suggest, UsageError } from '../usage.ts';

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
    ],
  },
  async run(input, terminal) {
    const suites = chooseSuites(input.operands[0]);
    const wanted = input.get('gpu');
    if (wanted !== undefined && wanted !== 'dawn' && wanted !== 'none')
      throw new UsageError(`bench takes --gpu dawn or none; got "${wanted}".`);
    const device =
      suites.includes('engine') && wanted !== 'none'
        ? await openIfThere(wanted, (line) => terminal.say(line))
        : null;
    try {
      const rows: BenchRow[] = [];
      for (const suite of suites) {
        if (suite === 'trace') rows.push(...(await benchTraces()));
        else if (suite === 'worlds') rows.push(...(await benchWorlds()));
        else rows.push(...(await benchEngine(device)));
      }
      terminal.table(
        ['what', 'measured', 'unit', 'floor', 'share'],
        rows.map((row) => [
          row.name,
          figure(row.value),
          row.unit,
          row.floor === null ? '' : figure(row.floor),
          row.share === null ? '' : row.share.toFixed(2),
        ]),
      );
      const name = device ? device.report.name : 'JavaScript, float64';
      terminal.say(`\nEngine on: ${name}`);
      terminal.result({
        device: { backend: device ? 'webgpu' : 'cpu', name },
        rows: rows.map((row) => ({ ...row, against: {} })) as unknown as Json,
      });
      return 0;
    } finally {
      device?.destroy();
    }
  },
};

function chooseSuites(word: string | undefined): readonly Suite[] {
  if (word === undefined) return SUITES;
  const suite = SUITES.find((one) => one === word);
  if (!suite) throw new UsageError(`There is no benchmark "${word}". ${suggest(word, SUITES)}`);
  return [suite];
}

async function openIfThere(wanted: string | undefined, tried: (line: string) => void) {
  try {
    return await openDevice(await openDawn());
  } catch (error) {
    if (wanted === 'dawn') throw error;
    tried(`no GPU through Dawn: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

const figure = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
