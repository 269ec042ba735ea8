import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSafetensors } from '../../src/policy/safetensors.ts';
import { lab, SMALL, startLab, temporaryFolder } from './lab.ts';

const checkpointsIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).filter((file) => /^checkpoint-.*\.safetensors$/.test(file)) : [];
const bytes = (folder: string, file: string) => readFileSync(join(folder, file)).toString('base64');
/** Checkpoints come every ten steps, so that some are always being written. */
const OFTEN = [...SMALL, '--set', 'evaluateEvery=10', '--set', 'steps=60', '--set', 'heldOut=10'];

/** Starts a command and ends its process, without a word, some time after its folder holds a checkpoint. */
async function killed(words: string[], folder: string, milliseconds: number): Promise<void> {
  const { child, ended } = startLab(words);
  while (checkpointsIn(folder).length === 0 && child.exitCode === null)
    await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  child.kill('SIGKILL');
  await ended;
}

describe('a run that is killed', () => {
  it('goes on from its folder, and from its checkpoint alone elsewhere, to the bits of an unbroken one', async () => {
    const whole = join(temporaryFolder(), 'whole');
    const begin = ['run', 'toolspace', '--gpu', 'none', ...OFTEN, '--arms', 'trained'];
    expect((await lab(...begin, '--out', whole)).status).toBe(0);

    const cut = join(temporaryFolder(), 'cut');
    await killed([...begin, '--out', cut], cut, 40);
    const moved = join(temporaryFolder(), 'moved.safetensors');
    for (const pause of [30, 70]) {
      if (existsSync(join(cut, 'metrics.json'))) break;
      const state = JSON.parse(readFileSync(join(cut, 'state.json'), 'utf8')) as {
        current: { file: string; step: number } | null;
      };
      if (state.current) {
        copyFileSync(join(cut, state.current.file), moved);
        expect(readSafetensors(readFileSync(moved)).step).toBe(state.current.step);
      }
      await killed(['run', '--resume', cut, '--gpu', 'none'], cut, pause);
    }
    expect((await lab('run', '--resume', cut, '--gpu', 'none')).status).toBe(0);
    for (const file of ['policy.safetensors', 'metrics.jsonl', 'dataset.jsonl'])
      expect(bytes(cut, file)).toBe(bytes(whole, file));
    expect(readdirSync(cut).filter((file) => /tmp$|^checkpoint-|^state/.test(file))).toEqual([]);

    const elsewhere = join(temporaryFolder(), 'elsewhere');
    const resumed = await lab('run', '--resume', moved, '--gpu', 'none', '--out', elsewhere);
    expect(resumed.status).toBe(0);
    for (const file of ['policy.safetensors', 'dataset.jsonl'])
      expect(bytes(elsewhere, file)).toBe(bytes(whole, file));
  }, 180_000);

  it('says so where the file is none', async () => {
    const missing = await lab('run', '--resume', '/nowhere/x.safetensors');
    expect(missing.status).toBe(2);
    expect(missing.stderr).toContain('There is no file /nowhere/x.safetensors');
  });
});
