import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/lab/services.ts';
import type { ToolGraph, WalkMove } from '../../src/task/model.ts';
import { Ledger } from '../../src/ui/run/ledger.ts';

const graph = (edges: number): ToolGraph => ({
  nodes: [],
  edges: Array.from({ length: edges }, () => ({
    from: 0,
    to: 1,
    kind: 'data' as const,
    count: 1,
    weight: 1,
    ranks: {},
    bindings: [],
    witnesses: [],
  })),
  clusters: [],
  sources: [],
  pruned: {},
});
const step = (walk: number, edge: number): WalkMove => ({
  type: 'step',
  walk,
  from: 0,
  to: 1,
  edge,
  call: 'c',
  ok: true,
});
const stats = (...steps: number[]) =>
  steps.map((n) => ({ step: n, loss: 1 / n, gradientNorm: 1, trained: 1, tokens: 2 }));
const steps = (...list: number[]) =>
  ({ type: 'steps', arm: 'a', stats: stats(...list), learningRate: 1, tokensPerSecond: 5 }) as const;
const evaluation = (step: number, mean: number): RunEvent => ({
  type: 'evaluation',
  arm: 'a',
  step,
  success: { mean, low: 0, high: 1, n: 4 },
  metrics: {},
  episodes: [],
});

describe('Ledger', () => {
  it('counts steps and rollbacks by edge and keeps whole walks only', () => {
    const ledger = new Ledger();
    ledger.add({ type: 'graph', graph: graph(3) });
    ledger.add({
      type: 'moves',
      moves: [
        { type: 'start', walk: 7, node: 0, seed: 1 },
        step(7, 2),
        { type: 'rollback', walk: 7, from: 1, to: 0, edge: 1, call: 'c', reason: 'refused' },
      ],
    });
    expect(ledger.walks).toEqual([]);
    ledger.add({ type: 'moves', moves: [step(7, 2), { type: 'chain', walk: 7, length: 2 }] });
    expect(ledger.walked).toEqual([0, 0, 2]);
    expect(ledger.refused).toEqual([0, 1, 0]);
    expect(ledger.counts).toEqual({ started: 1, steps: 2, rollbacks: 1, chains: 1, dropped: 0 });
    expect(ledger.walks.map(({ id, moves }) => [id, moves.length])).toEqual([[7, 5]]);
  });

  it('keeps a bounded number of walks and still counts all', () => {
    const ledger = new Ledger();
    for (let walk = 0; walk < 100; walk++) {
      ledger.add({
        type: 'moves',
        moves: [
          { type: 'start', walk, node: 0, seed: 1 },
          { type: 'dropped', walk, reason: 'stuck' },
        ],
      });
    }
    expect(ledger.counts.dropped).toBe(100);
    expect(ledger.walks.length).toBe(40);
    expect(ledger.walks.at(-1)?.id).toBe(99);
  });

  it('lets a resumed run overwrite what came after its checkpoint', () => {
    const ledger = new Ledger();
    ledger.add(steps(1, 2, 3, 4));
    ledger.add(evaluation(2, 0.25));
    ledger.add(steps(3, 4, 5));
    ledger.add(evaluation(2, 0.5));
    expect(ledger.curves[0]?.steps).toEqual([1, 2, 3, 4, 5]);
    expect(ledger.curves[0]?.loss).toEqual([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]);
    expect(ledger.evaluations.map(({ success }) => success.mean)).toEqual([0.5]);
  });

  it('counts a task that passes once, however often its verdict comes', () => {
    const ledger = new Ledger();
    const verdict = (task: string, passed: boolean) => ({ task, passed, failures: [] });
    ledger.add({ type: 'verdicts', verdicts: [verdict('x', true), verdict('x', true), verdict('y', false)] });
    expect([ledger.passed, ledger.verdicts.size]).toEqual([1, 2]);
  });

  it('tells each change once', () => {
    const ledger = new Ledger();
    ledger.add(steps(1));
    expect([...ledger.takeChanges()]).toEqual(['curves']);
    expect([...ledger.takeChanges()]).toEqual([]);
  });
});
