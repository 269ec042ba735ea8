import type { BenchDevice, BenchEvent } from './event.ts';
import { PEERS } from './peers/peer.ts';
import type { BenchRow } from './row.ts';

/** A whole measurement, as it is shown and taken away. */
export interface BenchTable {
  /** ISO 8601. */
  date: string;
  /** Browser or runtime, as it names itself. */
  agent: string;
  device: BenchDevice | null;
  /** Of the libraries that took part. */
  versions: Record<string, string>;
  remarks: string[];
  rows: BenchRow[];
}

export const emptyTable = (date: string, agent: string): BenchTable => ({
  date,
  agent,
  device: null,
  versions: {},
  remarks: [],
  rows: [],
});

/** The table with what an event adds to it; progress adds nothing. */
export function withEvent(table: BenchTable, event: BenchEvent): BenchTable {
  switch (event.type) {
    case 'device':
      return { ...table, device: event.device };
    case 'version':
      return { ...table, versions: { ...table.versions, [event.name]: event.version } };
    case 'remark':
      return { ...table, remarks: [...table.remarks, event.text] };
    case 'row':
      return { ...table, rows: [...table.rows, event.row] };
    case 'progress':
      return table;
  }
}

/** Rows that stand together, by their group, in the order of measurement. */
export function groupsOf(rows: readonly BenchRow[]): { group: string; rows: BenchRow[] }[] {
  return [...new Set(rows.map(({ group }) => group))].map((group) => ({
    group,
    rows: rows.filter((row) => row.group === group),
  }));
}

/** Everything, as a JSON text. */
export const tableJson = (table: BenchTable): string => `${JSON.stringify(table, null, 2)}\n`;

/** One line a row (RFC 4180), figures in full; date, device and versions repeat on every line. */
export function tableCsv(table: BenchTable): string {
  const names = PEERS.filter((name) => table.rows.some((row) => row.against[name]));
  const header = [
    'group',
    'name',
    'value',
    'unit',
    'floor',
    'share',
    'arithmetic floor',
    'bytes floor',
    'dispatches',
    ...names.flatMap((name) => [name, `${name} ratio`]),
    'date',
    'device',
    'agent',
    'versions',
  ];
  const { date, device, agent, versions } = table;
  const where = [
    date,
    device ? `${device.backend}: ${device.name}` : '',
    agent,
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join('; '),
  ];
  const lines = table.rows.map((row) => [
    row.group,
    row.name,
    row.value,
    row.unit,
    row.floor,
    row.share,
    row.floors?.arithmetic ?? null,
    row.floors?.bytes ?? null,
    row.dispatches ?? null,
    ...names.flatMap((name) => [row.against[name]?.value ?? null, row.against[name]?.ratio ?? null]),
    ...where,
  ]);
  return [header, ...lines].map((cells) => `${cells.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
