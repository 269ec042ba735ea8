import { describe, expect, test } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import type { ToolGraph, WalkMove } from '../../../src/task/model.ts';
import type { Walked, WalkOptions } from '../../../src/task/walk/options.ts';
import { valueAt } from '../../../src/task/walk/path.ts';
import { walk } from '../../../src/task/walk/walk.ts';
import type { Noise, World } from '../../../src/world/kit.ts';
import { SHOP_ARROWS, shop, shopGraph } from './shop.ts';

interface Trip {
  moves: WalkMove[];
  walked: Walked;
  world: World;
  digest: string;
}

function go(
  graph: ToolGraph,
  seed: number | string,
  options: Partial<WalkOptions> = {},
  noise?: Noise,
): Trip {
  const world = shop.create(seed, noise);
  const digest = world.snapshot().digest();
  const steps = walk({ world, lexicon: shop.lexicon, walk: 0 }, graph, new Rng(seed), options);
  const moves: WalkMove[] = [];
  for (;;) {
    const next = steps.next();
    if (next.done) return { moves, walked: next.value, world, digest };
    moves.push(next.value);
  }
}

const graph = shopGraph(SHOP_ARROWS);
const trips = Array.from({ length: 200 }, (_, seed) => go(graph, seed, { length: [2, 4] }));

test('a walk is a function of its seed', () => {
  for (let seed = 0; seed < 20; seed++) {
    expect(go(graph, seed, { length: [2, 4] }).walked).toEqual(trips[seed]?.walked);
  }
  expect(new Set(trips.map(({ walked }) => JSON.stringify(walked.chain))).size).toBeGreaterThan(20);
});

test('every call of a chain was accepted, and every argument is what its origin says', () => {
  for (const { walked } of trips) {
    walked.chain.forEach((call, i) => {
      expect(call.observation.ok).toBe(true);
      expect(Object.keys(call.provenance).sort()).toEqual(Object.keys(call.args).sort());
      for (const [name, origin] of Object.entries(call.provenance)) {
        if (origin.from === 'request')
          expect(origin.ref).toEqual({ root: { id: call.args[name] }, path: [] });
        else {
          const earlier = walked.chain[origin.call]?.observation;
          expect(origin.call).toBeLessThan(i);
          expect(earlier?.ok && valueAt(earlier.value, origin.path)).toEqual(call.args[name]);
        }
      }
    });
  }
});

test('replaying a chain leads to the state in which the walk left the world', () => {
  trips.forEach(({ walked, world }, seed) => {
    if (walked.dropped !== null) return;
    const again = shop.create(seed);
    for (const { tool, args, observation } of walked.chain)
      expect(again.call(tool, args)).toEqual(observation);
    expect(world.snapshot().digest()).toBe(again.snapshot().digest());
  });
});

test('the moves tell the walk: start, a step a call, one end', () => {
  for (const { moves, walked } of trips) {
    const kept = moves.filter(({ type }) => type === 'start' || type === 'step');
    if (walked.dropped === null) expect(kept).toHaveLength(walked.chain.length);
    expect(moves.filter(({ type }) => type === 'chain' || type === 'dropped')).toHaveLength(1);
    const nodes = kept.map((move) =>
      move.type === 'start' ? move.node : move.type === 'step' ? move.to : -1,
    );
    expect(nodes.slice(0, walked.chain.length)).toEqual(walked.chain.map(({ node }) => node));
  }
});

test('lengths stay in their range and reach both ends of it', () => {
  const lengths = new Set(
    trips.filter(({ walked }) => !walked.dropped).map(({ walked }) => walked.chain.length),
  );
  expect([...lengths].sort()).toEqual([2, 3, 4]);
});

test('no chain touches more environments than allowed', () => {
  for (let seed = 0; seed < 100; seed++) {
    const { walked } = go(graph, seed, { length: [1, 4], environments: 1 });
    const clusters = new Set(walked.chain.map(({ node }) => graph.nodes[node]?.cluster));
    expect(clusters.size).toBeLessThanOrEqual(1);
  }
});

describe('a failed call', () => {
  const noise = { read: 0.3, write: 0.5 };

  test('leaves no trace in the chain or the state, with rollback', () => {
    let rollbacks = 0;
    for (let seed = 0; seed < 100; seed++) {
      const { walked, moves, world } = go(graph, seed, { length: [2, 4] }, noise);
      rollbacks += moves.filter(({ type }) => type === 'rollback').length;
      if (walked.dropped !== null) continue;
      expect(walked.executed).toBe(walked.chain.length + walked.failed);
      const quiet = shop.create(seed);
      for (const { tool, args } of walked.chain) expect(quiet.call(tool, args).ok).toBe(true);
      expect(world.snapshot().digest()).toBe(quiet.snapshot().digest());
    }
    expect(rollbacks).toBeGreaterThan(20);
  });

  test('ends the walk without rollback', () => {
    for (let seed = 0; seed < 100; seed++) {
      const { walked } = go(graph, seed, { length: [2, 4], rollback: false }, noise);
      expect(walked.failed).toBeLessThanOrEqual(1);
      if (walked.failed > 0) expect(walked.dropped).toMatch(/no rollback/);
    }
  });

  test('drops the chain, with the reason, once it happened too often', () => {
    const { walked, moves } = go(graph, 1, { maxTries: 3 }, { read: 1, write: 1 });
    expect(walked).toMatchObject({ chain: [], failed: 3, executed: 3 });
    expect(walked.dropped).toBe('3 calls failed');
    expect(moves.at(-1)).toEqual({ type: 'dropped', walk: 0, reason: '3 calls failed' });
  });
});

test('a retry edge leads on only from a call that failed', () => {
  const onlyRetry = shopGraph([[0, 1, 'retry', '', '', 5]]);
  for (let seed = 0; seed < 50; seed++) {
    const { walked } = go(onlyRetry, seed, { length: [2, 3] });
    expect(walked.chain).toEqual([]);
  }
  // Getting a maker's item by the maker's name fails; the retry edge then asks for the maker.
  const graph = shopGraph([
    [0, 0, 'data', 'maker', 'item', 5],
    [0, 1, 'retry', '', '', 5],
  ]);
  const retried = Array.from({ length: 50 }, (_, seed) => go(graph, seed, { length: [2, 2] })).filter(
    ({ walked }) => walked.chain[1]?.edge?.kind === 'retry',
  );
  expect(retried.length).toBeGreaterThan(5);
  for (const { walked, moves } of retried) {
    expect(moves.some(({ type }) => type === 'rollback')).toBe(true);
    expect(walked.chain[1]).toMatchObject({
      tool: 'get_maker',
      provenance: { maker: { from: 'observation', call: 0 } },
    });
  }
});

test('neighbours come in proportion to w, or all alike', () => {
  const two = shopGraph([
    [0, 1, 'data', 'maker', 'maker', 9],
    [0, 4, 'data', 'id', 'item', 1],
  ]);
  const share = (weights: 'witnessed' | 'uniform'): number => {
    let maker = 0;
    let all = 0;
    for (let seed = 0; seed < 600; seed++) {
      const { walked } = go(two, `${weights}${seed}`, { length: [2, 2], weights });
      const to = walked.chain[0]?.node === 0 ? walked.chain[1]?.node : undefined;
      if (to !== undefined) all++;
      if (to === 1) maker++;
    }
    expect(all).toBeGreaterThan(80);
    return maker / all;
  };
  expect(share('witnessed')).toBeGreaterThan(0.8);
  expect(Math.abs(share('uniform') - 0.6)).toBeLessThan(0.2);
});

test('a write that changes nothing is no step', () => {
  const idle = shopGraph([[0, 4, 'data', 'id', 'item', 5]]);
  for (let seed = 0; seed < 100; seed++) {
    const { walked } = go(idle, seed, { length: [1, 2] });
    const world = shop.create(seed);
    for (const { tool, args } of walked.chain) {
      const before = world.snapshot();
      world.call(tool, args);
      if (tool === 'paint') expect(world.diff(before, world.snapshot())).not.toEqual([]);
    }
  }
});

test('options that make no sense are refused by name', () => {
  expect(() => go(graph, 1, { length: [3, 2] })).toThrow(LabError);
  expect(() => go(graph, 1, { environments: 0 })).toThrow(/environments/);
  expect(() => go(graph, 1, { maxTries: 0 })).toThrow(/tries/);
  expect(() => go({ ...graph, nodes: [] }, 1)).toThrow(/no nodes/);
});
