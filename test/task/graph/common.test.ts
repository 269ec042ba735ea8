import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/trace/model.ts';
import { call, graphOf, tellEdges } from './make.ts';

const times = (n: number, make: (i: number) => Call[]): Call[][] =>
  Array.from({ length: n }, (_, i) => make(i));

describe('a value that is common', () => {
  it('shows nothing where an argument hardly ever holds another', () => {
    const graph = graphOf(
      times(20, () => [
        call('list', {}, { currency: 'EURO', id: 'x' }),
        call('convert', { currency: 'EURO' }, {}),
      ]),
    );
    expect(tellEdges(graph)).toEqual([]);
    expect(graph.pruned).toEqual({ constant: 1 });
    expect(graph.sources[0]?.edges.data).toBe(0);
  });

  it('shows nothing where the caller mostly sets it unprompted', () => {
    // "Utrecht" is asked for in 40 trajectories, and one result happens to hold it; the other values flow.
    const graph = graphOf([
      ...times(40, (i) => [
        call('list', {}, { city: i === 0 ? 'Utrecht' : `c-${i}` }),
        call('weather', { place: 'Utrecht' }, {}),
      ]),
      ...times(40, (i) => [
        call('list', {}, { city: `town-${i}` }),
        call('weather', { place: `town-${i}` }, {}),
      ]),
    ]);
    expect(tellEdges(graph)).toEqual(['data: list → weather (city ⇒ place) ×40']);
  });

  it('shows nothing where outputs hold it as often before other uses', () => {
    // Every result lists both sizes: which one is asked for has nothing to do with the output.
    const graph = graphOf(
      times(40, (i) => [
        call('list', {}, { sizes: ['size-small', 'size-large'] }),
        call('pick', { size_name: i % 2 ? 'size-small' : 'size-large' }, {}),
      ]),
      { maxEnumerated: 1 },
    );
    expect(graph.edges).toEqual([]);
    expect(graph.pruned).toEqual({ untraceable: 1 });
  });

  it('is evidence all the same where few trajectories tell', () => {
    const graph = graphOf(
      times(9, () => [call('list', {}, { currency: 'EURO' }), call('convert', { currency: 'EURO' }, {})]),
    );
    expect(tellEdges(graph)).toEqual(['data: list → convert (currency ⇒ currency) ×9']);
  });

  it('is evidence where it is the only object of its kind: every task about one customer', () => {
    const graph = graphOf(
      times(30, (i) => [
        call('get_customer', {}, { line_id: 'L1001' }),
        call('get_line', { line: 'L1001' }, { device: `D${i}00` }),
        call('get_device', { device: `D${i}00` }, {}),
      ]),
    );
    expect(tellEdges(graph, 'data')).toContain('data: get_customer → get_line (line_id ⇒ line) ×30');
  });

  it('is evidence in a small pool, where the output before decides which', () => {
    const graph = graphOf(
      times(300, (i) => [
        call('get_ticket', { ticket: `T-${1000 + (i % 7)}` }, { owner: `person-${i % 5}`, at: i }),
        call('get_person', { person: `person-${i % 5}` }, { email: `mail-${(i * 3) % 5}@x.example` }),
      ]),
    );
    expect(tellEdges(graph, 'data')).toEqual(['data: get_ticket → get_person (owner ⇒ person) ×300']);
  });
});

describe('rare edges', () => {
  it('are cut and counted', () => {
    const lists = [
      ...times(3, (i) => [call('a', {}, { id: `id-${i}` }), call('b', { id: `id-${i}` }, {})]),
      [call('a', {}, { id: 'id-9' }), call('c', { id: 'id-9' }, {})],
    ];
    const graph = graphOf(lists, { minCount: 2 });
    expect(tellEdges(graph)).toEqual(['data: a → b (id ⇒ id) ×3']);
    expect(graph.pruned).toEqual({ rare: 1 });
    // N_i counts every pair, also those whose edge was cut.
    expect(graph.edges[0]?.weight).toBe(3 / 4);
    expect(graph.sources[0]?.edges.data).toBe(4);
  });
});
