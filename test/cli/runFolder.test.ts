import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RunFolder } from '../../src/cli/runFolder.ts';
import type { TaskSplit } from '../../src/methods/method.ts';
import type { TrainingCheckpoint } from '../../src/policy/training.ts';
import { taskSetHash } from '../../src/task/synthesis/dataset.ts';
import { makeTasks } from '../learn/desk.ts';
import { randomCheckpoint } from '../policy/formats/checkpoints.ts';
import { VERSION_1, VERSION_1_SHAPE } from '../policy/formats/version1.ts';

/** Cuts the power before the file operation numbered so; a write is cut off in its middle. Nothing works afterwards. */
const power = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY }));

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  const cut = () => {
    power.left -= 1;
    if (power.left < 0) throw new Error('power cut');
  };
  const guarded =
    <A extends unknown[], R>(work: (...args: A) => R) =>
    (...args: A): R => {
      cut();
      return work(...args);
    };
  return {
    ...fs,
    openSync: guarded(fs.openSync),
    fsyncSync: guarded(fs.fsyncSync),
    renameSync: guarded(fs.renameSync),
    rmSync: guarded(fs.rmSync),
    appendFileSync: (path: string, text: string) => {
      if (power.left === 0) fs.appendFileSync(path, text.slice(0, text.length / 2));
      cut();
      fs.appendFileSync(path, text);
    },
    writeSync: (file: number, bytes: Uint8Array, at: number) => {
      if (power.left === 0) fs.writeSync(file, bytes, at, Math.floor((bytes.length - at) / 2));
      cut();
      return fs.writeSync(file, bytes, at);
    },
  };
});
afterEach(() => {
  power.left = Number.POSITIVE_INFINITY;
});

const made = makeTasks('folder', 4);
const tasks: TaskSplit = { train: made.slice(0, 2), heldOut: made.slice(2) };
const hash = taskSetHash(made);
const at = (step: number): TrainingCheckpoint => ({
  ...randomCheckpoint(step, VERSION_1_SHAPE),
  step,
  training: { cursor: { epoch: step, place: 1 }, streams: { s: step } },
});
const row = (step: number) => ({ arm: 'trained', step, loss: 1 / step });
const empty = () => mkdtempSync(join(tmpdir(), 'rollout-lab-folder-'));

/** A run that has a checkpoint of step 10. */
function begun(): string {
  const path = empty();
  const folder = new RunFolder(path);
  folder.dataset(tasks, hash, 1, () => ({}));
  for (let step = 1; step <= 10; step++) folder.metric(row(step));
  folder.checkpoint('trained', at(10));
  return path;
}

/** The rest of the run, from wherever its folder stands. @returns the step that it went on from. */
function goOn(path: string): number {
  const folder = new RunFolder(path);
  const resume = folder.resume();
  if (!resume) throw new Error('there is nothing to go on with');
  const from = resume.learn?.checkpoint?.step ?? 20;
  if (resume.learn?.checkpoint) expect(resume.learn.checkpoint).toEqual(at(from));
  expect(resume.tasks).toEqual(tasks);
  if (!resume.learn?.finished.includes('trained')) {
    for (let step = from + 1; step <= 20; step++) folder.metric(row(step));
    if (from < 20) folder.checkpoint('trained', at(20));
    folder.evaluated('trained', { success: 1 });
    folder.finishArm('trained');
  }
  const summary = { arms: {}, taskSet: { hash, train: 2, heldOut: 2, rejected: 1 }, seconds: 1 };
  folder.finish({ seed: 1, summary, device: null });
  return from;
}

const files = (path: string) =>
  Object.fromEntries(
    readdirSync(path).map((name) => [name, readFileSync(join(path, name)).toString('base64')]),
  );

describe('a run folder', () => {
  it('holds a run to go on with, whenever the power is cut while it is written', () => {
    const whole = begun();
    goOn(whole);
    const wanted = files(whole);
    const from = new Set<number>();
    let cuts = 0;
    for (let operation = 0; ; operation++) {
      const path = begun();
      power.left = operation;
      let finished = true;
      try {
        goOn(path);
      } catch (error) {
        expect(String(error)).toContain('power cut');
        finished = false;
      }
      power.left = Number.POSITIVE_INFINITY;
      if (finished) break;
      cuts++;
      if (!new RunFolder(path).result()) from.add(goOn(path));
      const found = files(path);
      // A run that was over but for tidying up may keep its state.
      delete found['state.json'];
      expect(found, `cut before operation ${operation}`).toEqual(wanted);
    }
    expect(cuts).toBeGreaterThan(40);
    // Both checkpoints were gone on from: the older one where the newer was cut off.
    expect([...from].sort()).toEqual([10, 20]);
  });

  it('goes on from a checkpoint of the format before, which knows its step alone', () => {
    const path = begun();
    const old = Buffer.from(VERSION_1, 'base64');
    writeFileSync(join(path, 'checkpoint-trained-10.safetensors'), old);
    const { checkpoint } = new RunFolder(path).resume()!.learn!;
    expect(checkpoint).toEqual({ ...randomCheckpoint(77, VERSION_1_SHAPE), step: 25 });
  });
});
