import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lab, lastLine, SMALL, startLab, temporaryFolder } from './lab.ts';

const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8');

describe('lab run', () => {
  it('writes a whole folder and one JSON object, the same twice', async () => {
    const folders = [temporaryFolder(), temporaryFolder()].map((folder) => join(folder, 'run'));
    const runs = [];
    for (const folder of folders)
      runs.push(await lab('run', 'toolspace', '--gpu', 'none', ...SMALL, '--out', folder, '--json'));
    expect(runs.map((run) => run.status)).toEqual([0, 0]);
    const result = lastLine(runs[0]!);
    expect(result).toMatchObject({ method: 'toolspace', preset: 'micro', seeds: [1] });
    for (const arm of ['untrained', 'trained']) {
      const { success } = result.arms[arm];
      expect(success.values).toHaveLength(1);
      expect(success.mean).toBeGreaterThanOrEqual(0);
      expect(success.mean).toBeLessThanOrEqual(1);
      // One seed: the interval is that of its 40 tasks.
      expect(success.high - success.low).toBeGreaterThan(0.05);
    }
    const files = [
      'config.json',
      'dataset.jsonl',
      'metrics.json',
      'metrics.jsonl',
      'policy.onnx',
      'policy.safetensors',
      'report.html',
    ];
    expect(readdirSync(folders[0]!).sort()).toEqual(files);
    for (const file of files) expect(result.files).toContainEqual(expect.stringContaining(file));
    for (const file of ['dataset.jsonl', 'metrics.jsonl'])
      expect(read(folders[1]!, file)).toBe(read(folders[0]!, file));
    expect(
      readFileSync(join(folders[1]!, 'policy.safetensors')).equals(
        readFileSync(join(folders[0]!, 'policy.safetensors')),
      ),
    ).toBe(true);
    expect(read(folders[0]!, 'report.html')).toContain('toolspace');
  });

  it('stops on a signal with what was computed saved, and --resume ends at the same bits', async () => {
    const whole = join(temporaryFolder(), 'whole');
    await lab('run', 'toolspace', '--gpu', 'none', ...SMALL, '--arms', 'trained', '--out', whole);

    const cut = join(temporaryFolder(), 'cut');
    const { child, ended } = startLab([
      'run',
      'toolspace',
      '--gpu',
      'none',
      ...SMALL,
      '--arms',
      'trained',
      '--out',
      cut,
    ]);
    const saved = () => existsSync(cut) && readdirSync(cut).some((file) => file.startsWith('checkpoint-'));
    while (!saved() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    const stopped = await ended;
    expect(stopped.status).toBe(1);
    expect(stopped.stderr + stopped.stdout).toContain('--resume');
    expect(existsSync(join(cut, 'metrics.json'))).toBe(false);

    const resumed = await lab('run', '--resume', cut, '--gpu', 'none', '--json');
    expect(resumed.status).toBe(0);
    expect(
      readFileSync(join(cut, 'policy.safetensors')).equals(readFileSync(join(whole, 'policy.safetensors'))),
    ).toBe(true);
    expect(read(cut, 'metrics.jsonl')).toBe(read(whole, 'metrics.jsonl'));
    expect(read(cut, 'dataset.jsonl')).toBe(read(whole, 'dataset.jsonl'));
  });

  it('names the file that is damaged, and the way out', async () => {
    const folder = join(temporaryFolder(), 'run');
    const { child, ended } = startLab([
      'run',
      'toolspace',
      '--gpu',
      'none',
      ...SMALL,
      '--arms',
      'trained',
      '--out',
      folder,
    ]);
    const saved = () =>
      existsSync(folder) && readdirSync(folder).some((file) => file.startsWith('checkpoint-'));
    while (!saved() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    await ended;
    const checkpoint = readdirSync(folder).find((file) => file.startsWith('checkpoint-')) ?? '';
    for (const file of [checkpoint, 'dataset.jsonl', 'state.json']) {
      const whole = readFileSync(join(folder, file));
      writeFileSync(join(folder, file), whole.subarray(0, Math.min(1000, whole.length - 7)));
      const resumed = await lab('run', '--resume', folder, '--gpu', 'none');
      expect(resumed.status).toBe(1);
      expect(resumed.stderr.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`${file}.*run it anew`));
      writeFileSync(join(folder, file), whole);
    }
    expect((await lab('run', '--resume', folder, '--gpu', 'none')).status).toBe(0);
  });

  it('refuses to write over a run', async () => {
    const folder = join(temporaryFolder(), 'run');
    const first = [...SMALL, '--set', 'steps=10', '--set', 'tasks=20', '--set', 'heldOut=10'];
    expect((await lab('run', 'toolspace', '--gpu', 'none', ...first, '--out', folder)).status).toBe(0);
    const again = await lab('run', 'toolspace', '--gpu', 'none', ...first, '--out', folder);
    expect(again.status).toBe(2);
    expect(again.stderr).toContain('--resume');
  });
});
