import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the built command line, as `npm run lab` does. */
export function startLab(words: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const env = { ...process.env, ROLLOUT_LAB_ROOT: process.cwd() };
  const child = spawn(process.execPath, ['.cache/lab/main.js', ...words], { env });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });
  return { child, ended };
}

/** Runs one command line to its end. */
export const lab = (...words: string[]): Promise<Ended> => startLab(words).ended;

/** The object on the last line of standard output. */
export function lastLine(ended: Ended) {
  const line = ended.stdout.trimEnd().split('\n').at(-1) ?? '';
  return JSON.parse(line);
}

export const temporaryFolder = () => mkdtempSync(join(tmpdir(), 'rollout-lab-'));

/** A run of a few seconds: small in every way, real in every part. */
export const SMALL = [
  'trajectories=200',
  'tasks=200',
  'heldOut=40',
  'width=32',
  'steps=100',
  'tokens=512',
  'warmup=10',
  'evaluateEvery=50',
].flatMap((setting) => ['--set', setting]);
