import { describe, expect, it } from 'vitest';
import { mine } from '../../../src/task/graph/miner.ts';
import type { Call } from '../../../src/trace/model.ts';
import { call, graphOf, trajectory } from './make.ts';

const flow = (from: string, to: string, n: number): Call[][] =>
  Array.from({ length: n }, (_, i) => [
    call(from, {}, { id: `id-${i}00` }),
    call(to, { id: `id-${i}00` }, { n: i }),
  ]);

describe('clusters', () => {
  const lists = [
    ...flow('get_order', 'ship_order', 9),
    ...flow('ship_order', 'cancel_order', 9),
    ...flow('find_song', 'play_song', 9),
    ...flow('cancel_order', 'find_song', 2),
    [call('get_time', {}, 'noon')],
  ];

  it('hold tools that feed each other, and say what they are', () => {
    const graph = graphOf(lists);
    expect(graph.clusters).toEqual([
      { name: 'order', kind: 'operational', tools: ['cancel_order', 'get_order', 'ship_order'] },
      { name: 'song', kind: 'operational', tools: ['find_song', 'play_song'] },
      { name: 'time', kind: 'stateless', tools: ['get_time'] },
    ]);
    expect(graph.nodes.find(({ tool }) => tool === 'play_song')?.cluster).toBe(1);
  });

  it('tell a query, whose output varies with what is asked, from what always says the same', () => {
    const kind = (calls: Call[]) => graphOf([calls], { effectOf: () => 'read' }).clusters[0]?.kind;
    expect(kind([call('a', { q: 'x' }, 1), call('a', { q: 'y' }, 2)])).toBe('query');
    expect(kind([call('a', { q: 'x' }, 1), call('a', { q: 'y' }, 1)])).toBe('stateless');
    expect(kind([call('a', {}, 1), call('a', {}, 2)])).toBe('stateless');
    expect(kind([call('a', { q: 'x' }, 1), call('a', { q: 'y' }, 2, { error: 'no' })])).toBe('stateless');
  });

  it('take tools without edges to their server', () => {
    const calls = flow('shop/find', 'shop/buy', 4);
    const graph = graphOf([
      ...calls,
      [call('shop/hours', {}, 9)],
      [call('maps/route', {}, 9)],
      [call('maps/zoom', {}, 9)],
    ]);
    expect(graph.clusters.map(({ name, tools }) => [name, tools.length])).toEqual([
      ['shop', 3],
      ['maps', 2],
    ]);
  });

  it('have names of their own', () => {
    const graph = graphOf([...flow('get_order', 'ship_order', 3), ...flow('find_order', 'drop_order', 3)]);
    expect(graph.clusters.map(({ name }) => name)).toEqual(['order', 'order 2']);
  });

  it('of nothing are none', () => {
    expect(mine([])).toEqual({ nodes: [], edges: [], clusters: [], sources: [], pruned: {} });
    expect(mine([trajectory('empty', [])]).sources).toEqual([]);
  });
});
