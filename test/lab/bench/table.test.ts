import { describe, expect, it } from 'vitest';
import type { BenchRow } from '../../../src/lab/bench/row.ts';
import { median, plain } from '../../../src/lab/bench/row.ts';
import {
  type BenchTable,
  emptyTable,
  groupsOf,
  tableCsv,
  tableJson,
  withEvent,
} from '../../../src/lab/bench/table.ts';

const row: BenchRow = {
  group: 'Training',
  name: 'training step, width 64, 512 tokens',
  value: 62.5,
  unit: 'ms',
  floor: 50,
  share: 0.8,
  floors: { arithmetic: 50, bytes: 1 },
  dispatches: 63,
  against: { ort: { value: 125, ratio: 2, note: 'one, "two"' } },
};

const table: BenchTable = [
  {
    type: 'device' as const,
    device: { backend: 'webgpu' as const, name: 'acme, "x"', limits: { maxBufferSize: 1 }, features: [] },
  },
  { type: 'version' as const, name: 'ort', version: '1.30.0' },
  { type: 'remark' as const, text: 'tfjs: does not load here' },
  { type: 'row' as const, row: plain('Device', 'matrix rate', 4.25, 'GFLOP/s') },
  { type: 'row' as const, row },
  { type: 'progress' as const, what: 'done', done: 1, of: 1 },
].reduce(withEvent, emptyTable('2026-12-01T00:00:00.000Z', 'Browser/1'));

/** Fields of one line of RFC 4180. */
function fields(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) =>
    quoted === undefined ? (bare ?? '') : quoted.replaceAll('""', '"'),
  );
}

describe('the table of a measurement', () => {
  it('is whole as JSON', () => {
    expect(JSON.parse(tableJson(table))).toEqual(table);
    expect(table.rows).toHaveLength(2);
    expect(table.remarks).toEqual(['tfjs: does not load here']);
  });

  it('has one line a row as CSV, with every cell in its column', () => {
    const [header, ...lines] = tableCsv(table).trimEnd().split('\r\n').map(fields);
    expect(lines.map((line) => line.length)).toEqual([header!.length, header!.length]);
    const named = Object.fromEntries(header!.map((name, i) => [name, lines[1]![i]]));
    expect(named).toMatchObject({
      name: row.name,
      value: '62.5',
      floor: '50',
      'bytes floor': '1',
      dispatches: '63',
      ort: '125',
      'ort ratio': '2',
      device: 'webgpu: acme, "x"',
      versions: 'ort 1.30.0',
      date: table.date,
    });
    expect(lines[0]![header!.indexOf('floor')]).toBe('');
    expect(header).not.toContain('jax-js');
  });

  it('keeps groups in the order of measurement', () => {
    expect(groupsOf([row, ...table.rows]).map(({ group, rows }) => [group, rows.length])).toEqual([
      ['Training', 2],
      ['Device', 1],
    ]);
  });
});

it('takes the middle of measurements', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([])).toBeNaN();
});
