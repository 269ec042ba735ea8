import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { checkGraph } from '../../../src/task/graph/check.ts';
import { countEdges, digestGraph, edgesFrom, openEdge } from '../../../src/task/graph/graph.ts';
import { GraphMiner, mine } from '../../../src/task/graph/miner.ts';
import type { Call, Trajectory } from '../../../src/trace/model.ts';
import { call, failed, graphOf, trajectory } from './make.ts';

const value = fc.oneof(
  fc.constantFrom<string | number | boolean>(
    'W-1001',
    'W-1002',
    'economy',
    'business',
    'Utrecht',
    100,
    1234,
    10,
    true,
    false,
  ),
  fc.string({ maxLength: 6 }),
);
const fields = fc.dictionary(
  fc.constantFrom('id', 'order_id', 'city', 'cabin', 'limit', 'a.b', '__proto__'),
  value,
  { maxKeys: 3 },
);
const someCall: fc.Arbitrary<Call> = fc
  .record({
    tool: fc.constantFrom('get_order', 'update_order', 's/find', 's/create_user', 'wait'),
    args: fields,
    result: fc.oneof(fields, fc.array(fields, { maxLength: 3 }), value),
    fails: fc.boolean(),
    meta: fc.nat(9).map((n) => n === 0),
    user: fc.nat(5).map((n) => n === 0),
  })
  .map(({ tool, args, result, fails, meta, user }) => {
    const more = { meta, caller: user ? ('user' as const) : ('agent' as const) };
    return fails
      ? failed(tool, args as JsonObject, 'no', more)
      : call(tool, args as JsonObject, result as JsonObject, more);
  });
const corpus: fc.Arbitrary<Trajectory[]> = fc
  .array(
    fc.tuple(
      fc.array(someCall, { maxLength: 6 }),
      fc.constantFrom('desk', 'tau'),
      fc.constantFrom('server' as const, 'synthetic' as const),
    ),
    {
      maxLength: 25,
    },
  )
  .map((lists) => lists.map(([calls, source, rank], i) => trajectory(`t${i}`, calls, { source, rank })));
const cautious = { common: { support: 3 }, minCount: 1, witnesses: 4 };

describe('mining', () => {
  it('does not depend on the order of trajectories', () => {
    fc.assert(
      fc.property(corpus, fc.infiniteStream(fc.nat()), (trajectories, keys) => {
        const shuffled = trajectories
          .map((t) => ({ t, key: keys.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ t }) => t);
        expect(mine(shuffled, cautious)).toEqual(mine(trajectories, cautious));
        expect(digestGraph(mine(shuffled))).toBe(digestGraph(mine(trajectories)));
      }),
      { numRuns: 150 },
    );
  });

  it('holds together whatever it is given', () => {
    fc.assert(
      fc.property(corpus, (trajectories) => {
        const graph = mine(trajectories, { minCount: 1, witnesses: 1000 });
        expect(checkGraph(graph)).toEqual([]);
        for (const edge of graph.edges) expect(edge.witnesses).toHaveLength(edge.count);
        for (const { edges, pairs } of graph.sources)
          expect(Math.max(...Object.values(edges))).toBeLessThanOrEqual(pairs);
        const total = graph.sources.reduce(
          (sum, { edges }) => sum + edges.data + edges.state + edges.retry,
          0,
        );
        expect(graph.edges.reduce((sum, { count }) => sum + count, 0)).toBe(total);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the same witnesses out of more, and exact counts', () => {
    fc.assert(
      fc.property(corpus, (trajectories) => {
        const all = mine(trajectories, { minCount: 1, witnesses: 1000 });
        const few = mine(trajectories, { minCount: 1, witnesses: 2 });
        expect(few.edges).toEqual(
          all.edges.map((edge) => ({ ...edge, witnesses: edge.witnesses.slice(0, 2) })),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('can go on after a graph was taken', () => {
    fc.assert(
      fc.property(corpus, fc.nat(25), (trajectories, cut) => {
        const miner = new GraphMiner(cautious);
        for (const t of trajectories.slice(0, cut)) miner.add(t);
        expect(miner.finish()).toEqual(mine(trajectories.slice(0, cut), cautious));
        for (const t of trajectories.slice(cut)) miner.add(t);
        expect(miner.finish()).toEqual(mine(trajectories, cautious));
      }),
      { numRuns: 60 },
    );
  });

  it('refuses options that make no sense', () => {
    for (const options of [
      { minCount: 0 },
      { witnesses: Number.NaN },
      { shortest: -1 },
      { common: { share: 2 } },
    ]) {
      expect(() => new GraphMiner(options)).toThrow(/is/);
    }
  });
});

describe('a graph', () => {
  const graph = graphOf(
    [
      ...Array.from({ length: 3 }, (_, i) => [
        call('get_user', {}, { id: `W-100${i}` }),
        call('get_order', { id: `W-100${i}` }, {}),
      ]),
      [call('get_user', {}, { id: 'W-2000' }), call('cancel', { id: 'W-2000' }, {})],
    ],
    { witnesses: 2 },
  );

  it('is read from a node outwards', () => {
    const node = graph.nodes.findIndex(({ tool }) => tool === 'get_user');
    expect(edgesFrom(graph, node).map(({ weight }) => weight)).toEqual([0.75, 0.25]);
    expect(edgesFrom(graph, node, 'retry')).toEqual([]);
    expect(countEdges(graph)).toEqual({ data: 2, state: 0, retry: 0 });
  });

  it('opens an edge to its witnesses', () => {
    const index = graph.edges.findIndex(({ count }) => count === 3);
    expect(openEdge(graph, index)).toMatchObject({
      pairs: 4,
      further: 1,
      from: { tool: 'get_user' },
      to: { tool: 'get_order' },
    });
    expect(openEdge(graph, 99)).toBeNull();
  });

  it('that does not hold together is found out', () => {
    const spoil = (change: (copy: typeof graph) => void): string[] => {
      const copy = structuredClone(graph);
      change(copy);
      return checkGraph(copy);
    };
    expect(spoil(() => {})).toEqual([]);
    expect(
      spoil((g) => {
        (g.edges[0] as { weight: number }).weight = 0.9;
      }),
    ).toHaveLength(2);
    expect(
      spoil((g) => {
        (g.edges[0] as { count: number }).count = 7;
      }).join(),
    ).toContain('ranks');
    expect(
      spoil((g) => {
        (g.nodes[0] as { cluster: number }).cluster = 9;
      }).join(),
    ).toContain('cluster');
    expect(
      spoil((g) => {
        (g.sources[0] as { calls: number }).calls = 1;
      }).join(),
    ).toContain('sources');
    expect(
      spoil((g) => {
        g.edges.push(structuredClone(g.edges[0] as (typeof g.edges)[number]));
      }).join(),
    ).toContain('twice');
  });
});
