import { describe, expect, it } from 'vitest';
import { mine } from '../../../src/task/graph/miner.ts';
import { call, failed, graphOf, tool, trajectory } from './make.ts';

describe('a node', () => {
  it('is a tool with the arguments that are set', () => {
    const graph = graphOf([
      [
        call('find', { b: 'x', a: 'y' }, []),
        call('find', { a: 'z', b: 'q' }, []),
        call('find', { a: 'z' }, []),
        call('find', { a: 'z', b: null }, []),
      ],
    ]);
    expect(graph.nodes.map(({ key, calls }) => [key, calls])).toEqual([
      ['find{a,b}', 2],
      ['find{a}', 2],
    ]);
  });

  it('is split by truth values and by values that the declaration lists', () => {
    const find = tool('find', { sort: { type: 'string', enum: ['asc', 'P1'] }, text: { type: 'string' } });
    const calls = [
      call('find', { sort: 'asc', text: 'a', deep: true }, []),
      call('find', { sort: 'P1', text: 'b', deep: false }, []),
    ];
    const graph = mine([trajectory('t', calls, { tools: [find] })]);
    expect(graph.nodes.map(({ key }) => key)).toEqual([
      'find{deep=false,sort=P1,text}',
      'find{deep=true,sort=asc,text}',
    ]);
    expect(graph.nodes[0]?.configuration).toEqual(['deep=false', 'sort=P1', 'text']);
  });

  it('is split by a small closed set of words that is used again and again', () => {
    const graph = graphOf(
      Array.from({ length: 20 }, (_, i) => [
        call('fly', { cabin: i % 2 ? 'economy' : 'business', to: `X${i}` }, i),
      ]),
    );
    expect(graph.nodes.map(({ key }) => key)).toEqual(['fly{cabin=business,to}', 'fly{cabin=economy,to}']);
  });

  it('is not split by identifiers, by many values, or by few calls', () => {
    const keys = (value: (i: number) => string, n = 40) =>
      graphOf(
        Array.from({ length: n }, (_, i) => [call('fly', { to: value(i) }, { airport_id: 'home' })]),
      ).nodes.map(({ key }) => key);
    expect(keys((i) => `word${String.fromCharCode(97 + (i % 20))}`)).toEqual(['fly{to}']);
    expect(keys((i) => (i % 2 ? 'home' : 'away'))).toEqual(['fly{to}']);
    expect(keys((i) => (i % 2 ? 'abroad' : 'away'), 6)).toEqual(['fly{to}']);
    expect(keys((i) => (i % 2 ? 'abroad' : 'away'))).toEqual(['fly{to=abroad}', 'fly{to=away}']);
  });

  it('is not split by an argument that outputs fill', () => {
    const graph = graphOf(
      Array.from({ length: 40 }, (_, i) => {
        const owner = i % 2 ? 'anna' : 'bruno';
        return [call('get', {}, { owner }), call('mail', { to: owner }, 'sent')];
      }),
    );
    expect(graph.nodes.map(({ key }) => key)).toEqual(['get{}', 'mail{to}']);
    expect(graph.edges[0]?.count).toBe(40);
  });

  it('shows no flow into an enumerated argument: its value is the caller’s choice', () => {
    const graph = graphOf(
      Array.from({ length: 40 }, (_, i) => [
        call('get', {}, i % 4 === 0 ? { cabin: 'economy' } : {}),
        call('fly', { cabin: i % 2 ? 'business' : 'economy' }, {}),
      ]),
    );
    expect(graph.edges).toEqual([]);
    expect(graph.pruned).toEqual({ enumerated: 1 });
  });

  it('counts calls, errors, pairs and sources, and takes the strongest effect', () => {
    const a = trajectory('a', [call('update_x', {}, 1), failed('update_x', {})]);
    const b = trajectory('b', [call('update_x', {}, 1)], { source: 'other', rank: 'synthetic' });
    const graph = mine([a, b]);
    expect(graph.nodes[0]).toMatchObject({
      effect: 'write',
      calls: 3,
      errors: 1,
      pairs: 1,
      sources: { made: 2, other: 1 },
    });
    expect(
      graph.sources.map(({ source, trajectories, calls, pairs }) => [source, trajectories, calls, pairs]),
    ).toEqual([
      ['made', 1, 2, 1],
      ['other', 1, 1, 0],
    ]);
  });

  it('keeps names that separate apart in its key', () => {
    const graph = graphOf([
      [call('f', { 'a,b': 1 }, 0), call('f', { a: 1, b: 1 }, 0), call('f', { 'x}': 1, '12345': 1 }, 0)],
    ]);
    expect(graph.nodes.map(({ key }) => key)).toEqual(['f{12345,x\\}}', 'f{a,b}', 'f{a\\,b}']);
  });
});
