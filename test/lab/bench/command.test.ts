import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lab, lastLine } from '../../cli/lab.ts';

describe.skipIf(!existsSync('.cache/lab/main.js'))('bench engine --json', () => {
  it('ends with one object of the contract', async () => {
    const ended = await lab(
      'bench',
      'engine',
      '--gpu',
      'none',
      '--size',
      'tiny',
      '--against',
      'ort',
      '--json',
    );
    expect(ended.status, ended.stderr).toBe(0);
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(1);
    const { device, rows, versions } = lastLine(ended);
    expect(device).toMatchObject({ backend: 'cpu', name: expect.any(String) });
    expect(versions).toEqual({ ort: expect.any(String) });
    for (const row of rows)
      expect(row).toMatchObject({
        name: expect.any(String),
        value: expect.any(Number),
        unit: expect.any(String),
        against: expect.any(Object),
      });
    const sampling = rows.find(({ name }: { name: string }) => name.startsWith('sampling'));
    const { value, ratio } = sampling.against.ort;
    expect(ratio).toBeCloseTo(sampling.value / value, 9);
  });

  it.each([
    [['--against', 'torch'], /no library "torch"/],
    [['--size', 'huge'], /--size takes tiny, quick, full/],
    [['--gpu', 'cuda'], /--gpu dawn or none/],
  ])('refuses %s with exit status 2', async (words, reason) => {
    const ended = await lab('bench', 'engine', ...words);
    expect(ended.status).toBe(2);
    expect(ended.stderr).toMatch(reason);
  });

  it('compares the engine alone', async () => {
    const ended = await lab('bench', 'trace', '--against', 'ort');
    expect(ended.status).toBe(2);
    expect(ended.stderr).toMatch(/bench engine/);
  });
});
