import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import type { CheckpointData, LogRow, NewRun } from '../../src/store/model.ts';
import type { Trajectory } from '../../src/trace/model.ts';

/** An empty browser storage in place of the last one. */
export function freshIndexedDb(): void {
  globalThis.indexedDB = new IDBFactory();
}

/** A clock that ticks a second at every look, so that dates differ and repeat. */
export function clock(): () => Date {
  let seconds = 0;
  return () => new Date(Date.UTC(2026, 0, 1) + 1000 * seconds++);
}

export const RUN: NewRun = {
  method: 'toolspace',
  preset: 'micro',
  config: { batch: 32, masking: 'agent' },
  seed: 3,
  arms: ['graph', 'none'],
};

export const rows = (arm: string, from: number, to: number): LogRow[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ arm, step: from + i, loss: 1 / (from + i + 1) }));

export function checkpoint(step: number, length = 64): CheckpointData {
  const fill = (salt: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * 1.7 + salt + step));
  return {
    shape: { vocab: 8, width: 4, layers: 1, heads: 1, hidden: 16, context: 32 },
    step,
    parameters: fill(0),
    moment1: fill(1),
    moment2: fill(2),
  };
}

export const TRAJECTORY: Trajectory = {
  id: 't1',
  source: 'desk',
  rank: 'synthetic',
  file: 'a.jsonl',
  turns: [
    { kind: 'message', role: 'user', text: 'Close <b>T-1</b>' },
    {
      kind: 'call',
      id: 'c1',
      tool: 'close',
      args: { id: 'T-1' },
      result: undefined,
      error: 'timeout',
      caller: 'agent',
      meta: false,
      place: { file: 'a.jsonl', line: 1 },
    },
  ],
  tools: [],
  reward: null,
};
