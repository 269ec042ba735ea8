import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EdgeKind, ToolGraph } from '../../src/task/model.ts';
import { readingOrder, smoothPath } from '../../src/ui/graph/geometry.ts';
import { layoutGraph } from '../../workers/layout.ts';

const KINDS: EdgeKind[] = ['data', 'state', 'retry'];

const graphs = fc
  .record({
    calls: fc.array(fc.nat(500), { minLength: 1, maxLength: 14 }),
    pairs: fc.array(fc.tuple(fc.nat(13), fc.nat(13), fc.nat(2)), { maxLength: 30 }),
  })
  .map(
    ({ calls, pairs }): ToolGraph => ({
      nodes: calls.map((n, id) => ({
        id: id * 10,
        key: `tool_${id}`,
        tool: `tool_${id}`,
        configuration: id % 2 ? ['ticket', 'status=open'] : [],
        effect: 'read',
        calls: n,
        errors: 0,
        pairs: 1,
        sources: {},
        cluster: 0,
      })),
      edges: pairs.map(([a, b, kind]) => ({
        from: (a % calls.length) * 10,
        to: (b % calls.length) * 10,
        kind: KINDS[kind] as EdgeKind,
        count: 1,
        weight: 0.5,
        ranks: {},
        bindings: [],
        witnesses: [],
      })),
      clusters: [],
      sources: [],
      pruned: {},
    }),
  );

describe('layoutGraph', () => {
  it('places every node once, inside the picture, over no other', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { nodes, width, height } = layoutGraph(graph, 640);
        expect(nodes.map((node) => node.index)).toEqual(graph.nodes.map((_, i) => i));
        for (const [i, a] of nodes.entries()) {
          expect(a.x - a.width / 2).toBeGreaterThanOrEqual(0);
          expect(a.y - a.height / 2).toBeGreaterThanOrEqual(0);
          expect(a.x + a.width / 2).toBeLessThanOrEqual(width);
          expect(a.y + a.height / 2).toBeLessThanOrEqual(height);
          for (const b of nodes.slice(i + 1)) {
            const apart =
              Math.abs(a.x - b.x) * 2 >= a.width + b.width - 0.1 ||
              Math.abs(a.y - b.y) * 2 >= a.height + b.height - 0.1;
            expect(apart).toBe(true);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('gives every edge a path, parallel ones and loops too', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { edges } = layoutGraph(graph, 640);
        expect(edges.map((edge) => edge.index).sort((a, b) => a - b)).toEqual(graph.edges.map((_, i) => i));
        for (const { points } of edges) expect(smoothPath(points)).toMatch(/^M-?[\d.]+ -?[\d.]+[QL]/);
      }),
      { numRuns: 60 },
    );
  });

  it('makes a node that is called more often larger', () => {
    const [graph] = fc.sample(graphs, { numRuns: 1, seed: 4 });
    const calm = {
      ...graph,
      nodes: graph!.nodes.slice(0, 1).concat({ ...graph!.nodes[0]!, id: 10, calls: 1000 }),
      edges: [],
    } as ToolGraph;
    const { nodes } = layoutGraph(
      { ...calm, nodes: calm.nodes.map((node, i) => ({ ...node, calls: i ? 1000 : 10 })) },
      640,
    );
    expect(nodes[1]!.height).toBeGreaterThan(nodes[0]!.height * 1.2);
  });

  it('leaves out what would not be readable, and says how much', () => {
    const [graph] = fc.sample(graphs, { numRuns: 1, seed: 4 });
    const nodes = Array.from({ length: 150 }, (_, id) => ({ ...graph!.nodes[0]!, id, calls: id }));
    const layout = layoutGraph({ ...graph!, nodes, edges: [] }, 640);
    expect(layout.hidden).toEqual({ nodes: 30, edges: 0 });
    expect(layout.nodes.map((node) => node.index)).not.toContain(0);
  });

  it('reads from the top, then from the left', () => {
    const at = (index: number, x: number, y: number) => ({ index, x, y, width: 1, height: 1 });
    const order = readingOrder({
      width: 9,
      height: 9,
      nodes: [at(0, 5, 5), at(1, 1, 5), at(2, 9, 1)],
      edges: [],
      hidden: { nodes: 0, edges: 0 },
    });
    expect(order).toEqual([2, 1, 0]);
  });
});
