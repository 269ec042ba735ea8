import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadRuntime, pretendBrowser } from '../../../src/cli/bench/browser.ts';
import { type LabDevice, openDevice } from '../../../src/gpu/device.ts';
import type { BenchEvent } from '../../../src/lab/bench/event.ts';
import { measureEngine } from '../../../src/lab/bench/measure.ts';
import { loadPeer } from '../../../src/lab/bench/peers/load.ts';
import { PEERS, VERSIONS } from '../../../src/lab/bench/peers/peer.ts';
import { type BenchPlan, partsOf, TINY } from '../../../src/lab/bench/plan.ts';
import type { BenchRow } from '../../../src/lab/bench/row.ts';
import { benchSampling } from '../../../src/lab/bench/sampling.ts';
import { benchTraining } from '../../../src/lab/bench/training.ts';
import { openGpu } from '../../kernel/device.ts';

let device: LabDevice;
beforeAll(async () => {
  const gpu = openGpu();
  device = await openDevice(gpu);
  pretendBrowser(gpu);
});
afterAll(() => device?.destroy());

async function measured(on: LabDevice | null, plan: BenchPlan) {
  const events: BenchEvent[] = [];
  for await (const event of measureEngine(on, plan, loadRuntime)) events.push(event);
  const rows = events.flatMap((event) => (event.type === 'row' ? [event.row] : []));
  const remarks = events.flatMap((event) => (event.type === 'remark' ? [event.text] : []));
  return { events, rows, remarks };
}

/** Rows and remarks of one part. */
async function finished(part: AsyncGenerator<string | null, BenchRow[]>) {
  const remarks: string[] = [];
  for (;;) {
    const { done, value } = await part.next();
    if (done) return { rows: value, remarks };
    if (value !== null) remarks.push(value);
  }
}

/** What every reader of a row relies on. */
function expectContract(rows: readonly BenchRow[]): void {
  expect(new Set(rows.map(({ group, name }) => `${group}/${name}`)).size).toBe(rows.length);
  for (const row of rows) {
    expect(Number.isFinite(row.value), row.name).toBe(true);
    expect(row.unit, row.name).not.toBe('');
    expect(row.share === null, row.name).toBe(row.floor === null);
    if (row.floor !== null && row.unit === 'ms') expect(row.share).toBeCloseTo(row.floor / row.value, 9);
    for (const { value, ratio } of Object.values(row.against)) {
      const faster = row.unit === 'ms' ? value / row.value : row.value / value;
      expect(ratio, row.name).toBeCloseTo(faster, 9);
    }
  }
}

const named = (rows: readonly BenchRow[], name: RegExp) => rows.find((row) => name.test(row.name));

describe('the benchmark of the engine, on WebGPU', () => {
  it('measures rates, memory, dispatches, kernels, training and sampling', async () => {
    const { events, rows, remarks } = await measured(device, TINY);
    expectContract(rows);
    expect(remarks).toEqual([]);
    const last = events.at(-1)!;
    expect(last).toEqual({ type: 'progress', what: 'done', done: partsOf(TINY), of: partsOf(TINY) });
    const kernels = rows.filter(({ group }) => group.startsWith('Kernels'));
    // A kernel without a floor is one that the table of work does not know.
    expect(kernels.filter(({ floor }) => floor === null).map(({ name }) => name)).toEqual([]);
    const dispatches = kernels.filter(({ group }) => group === 'Kernels of a training step');
    expect(dispatches.reduce((sum, row) => sum + (row.dispatches ?? 0), 0)).toBe(
      named(rows, /^dispatches of a training step/)!.value,
    );
    expect(named(rows, /^submits of a training step/)!.value).toBe(1);
    for (const row of rows.filter(({ name }) => name.startsWith('peak over plan')))
      expect(Math.abs(row.value), row.name).toBeLessThan(5);
    expect(named(rows, /^matrix rate/)!.value).toBeGreaterThan(0);
    expect(named(rows, /^training step/)!.floor).toBeGreaterThan(0);
    expect(named(rows, /^sampling/)!.value).toBeGreaterThan(0);
  }, 120_000);

  it('gives the device back when it is stopped midway', async () => {
    const events = measureEngine(device, TINY, loadRuntime);
    for await (const event of events)
      if (event.type === 'progress' && event.what === 'every kernel by itself') break;
    expect(Object.hasOwn(device.gpu, 'createBuffer')).toBe(false);
    expect(Object.hasOwn(device.gpu.queue, 'submit')).toBe(false);
    expect(device.fault).toBeNull();
  });

  it('finds that the libraries compute the same, and compares them', async () => {
    const [student] = TINY.students;
    const one = { ...student!, shape: { ...student!.shape, layers: 1 } };
    const plan = { ...TINY, students: [one], rounds: 1 };
    const loaded = await Promise.all(PEERS.map((name) => loadPeer(name, true, loadRuntime)));
    const peers = loaded.filter((peer) => typeof peer !== 'string');
    expect(peers.map(({ name }) => name)).toEqual([...PEERS]);
    const training = await finished(benchTraining(device, null, one, peers, plan.rounds));
    const sampling = await finished(benchSampling(device, plan, peers));
    expect([...training.remarks, ...sampling.remarks]).toEqual([]);
    expectContract([...training.rows, ...sampling.rows]);
    expect(Object.keys(named(training.rows, /^training step/)!.against)).toEqual(['jax-js', 'tfjs']);
    expect(Object.keys(sampling.rows[0]!.against)).toEqual(['ort']);
    expect(sampling.rows[0]!.against.ort!.note).toMatch(/4 rollouts a call/);
    expect(sampling.rows[0]!.against.ort!.note).toMatch(/one rollout at a time/);
  }, 120_000);
});

describe('the benchmark of the engine, on the processor', () => {
  it('measures training and sampling, and names what cannot be compared', async () => {
    const { rows, remarks } = await measured(null, { ...TINY, rounds: 1, against: ['tfjs', 'ort'] });
    expectContract(rows);
    expect(remarks).toEqual([expect.stringMatching(/^tfjs: compared on WebGPU alone/)]);
    expect(rows.map(({ group }) => group)).toEqual(['Training', 'Training', 'Training', 'Sampling']);
    expect(named(rows, /^training step/)!.floor).toBeNull();
    expect(named(rows, /^sampling/)!.against.ort!.value).toBeGreaterThan(0);
  });
});

it('states the versions that are installed', () => {
  const packages = { 'jax-js': '@jax-js/jax', tfjs: '@tensorflow/tfjs-core', ort: 'onnxruntime-web' };
  for (const name of PEERS) {
    const file = new URL(`../../../node_modules/${packages[name]}/package.json`, import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8')).version).toBe(VERSIONS[name]);
  }
});
