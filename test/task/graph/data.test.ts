import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { call, failed, graphOf, only, tellEdges } from './make.ts';

/** Whether a result and later arguments show a data edge. */
function shows(result: Json, args: Record<string, Json>, own: Record<string, Json> = {}): string[] {
  return tellEdges(graphOf([[call('get_user', own, result), call('get_order', args, {})]]), 'data');
}

describe('a data edge', () => {
  it('records both paths and the value', () => {
    const edge = only(
      graphOf([
        [
          call('get_user', {}, { user: { orders: [{ id: 'W-1001' }, { id: 'W-1002' }] } }),
          call('get_order', { order: 'W-1002' }, {}),
        ],
      ]),
    );
    expect(edge.bindings).toEqual([{ source: 'user.orders[*].id', target: 'order', count: 1 }]);
    expect(edge.witnesses).toEqual([
      {
        trajectory: 't0',
        file: 'made',
        from: 0,
        to: 1,
        source: 'user.orders[1].id',
        target: 'order',
        value: 'W-1002',
      },
    ]);
    expect(edge.weight).toBe(1);
    expect(edge.ranks).toEqual({ server: 1 });
  });

  it('goes into nested arguments and comes from a bare result', () => {
    expect(shows('mia_li_3668', { filter: { users: ['mia_li_3668'] } })).toEqual([
      'data: get_user → get_order ( ⇒ filter.users[*]) ×1',
    ]);
  });

  it('takes keys that are data as any element', () => {
    expect(shows({ variants: { '9612497925': { item: 'sku-blue' } } }, { sku: 'sku-blue' })).toEqual([
      'data: get_user → get_order (variants[*].item ⇒ sku) ×1',
    ]);
  });

  it('prefers the field of the same name, then the one that names an object', () => {
    const result = { note: 'K-77-1', owner: { id: 'K-77-1' }, owner_id: 'K-77-1' };
    expect(shows(result, { owner_id: 'K-77-1' })[0]).toContain('owner_id ⇒ owner_id');
    expect(shows({ note: 'K-77-1', owner: { id: 'K-77-1' } }, { owner_id: 'K-77-1' })[0]).toContain(
      'owner.id ⇒ owner_id',
    );
  });

  it('counts each pair once, however many values flow', () => {
    const graph = graphOf([
      [
        call('get_user', {}, { city: 'Utrecht', street: 'Lange Nieuwstraat' }),
        call('ship', { city: 'Utrecht', street: 'Lange Nieuwstraat' }, {}),
      ],
    ]);
    const edge = graph.edges.find(({ kind }) => kind === 'data');
    expect(edge?.count).toBe(1);
    expect(edge?.bindings.map(({ target }) => target)).toEqual(['city', 'street']);
  });

  it('reads names that mislead a path or a prototype', () => {
    const result = JSON.parse('{"__proto__": {"a.b": "value-1"}, "constructor": ["value-2"]}') as Json;
    expect(shows(result, { x: 'value-1' })[0]).toContain('__proto__["a.b"] ⇒ x');
    const args = JSON.parse('{"__proto__": "value-2"}') as Record<string, Json>;
    expect(shows(result, args)[0]).toContain('constructor[*] ⇒ __proto__');
  });

  it('compares text of any script', () => {
    expect(shows({ 名前: '東京都庁舎' }, { 場所: '東京都庁舎' })[0]).toContain('名前 ⇒ 場所');
    expect(shows({ a: 'naïve' }, { b: 'nai\u0308ve' })).toEqual([]);
  });

  it('survives a result of great depth', () => {
    const deep = JSON.parse(`${'['.repeat(5000)}"deep-value"${']'.repeat(5000)}`) as Json;
    expect(shows([deep, 'flat-value'], { a: 'flat-value', b: 'deep-value' })).toEqual([
      'data: get_user → get_order ([*] ⇒ a) ×1',
    ]);
  });
});

describe('no data edge', () => {
  it.each<[string, Json, Record<string, Json>]>([
    ['from a number to text', { id: 12345 }, { id: '12345' }],
    ['from text to a number', { id: '12345' }, { id: 12345 }],
    ['from a short text', { id: 'abc' }, { id: 'abc' }],
    ['from a text over 400 characters', { id: 'x'.repeat(401) }, { id: 'x'.repeat(401) }],
    ['from a number of two digits', { n: 42 }, { n: 42 }],
    ['from a truth value', { ok: true }, { ok: true }],
    ['from a constant of every interface', { mode: 'default' }, { mode: 'default' }],
    ['into an argument that says how much', { total: 137 }, { limit: 137 }],
    ['from a round number of another name', { total: 500 }, { price: 500 }],
    ['from a part of a text', { text: 'see W-1001 there' }, { id: 'W-1001' }],
    ['from a key', { 'W-1001': {} }, { id: 'W-1001' }],
  ])('%s', (_, result, args) => {
    expect(shows(result, args)).toEqual([]);
  });

  it('from an echo of the caller’s own argument', () => {
    expect(shows({ id: 'W-1001' }, { id: 'W-1001' }, { order: 'W-1001' })).toEqual([]);
  });

  it('from a failed call, nor over a call in between', () => {
    const later = call('get_order', { id: 'W-1001' }, {});
    expect(tellEdges(graphOf([[failed('get_user', {}, 'W-1001'), later]]), 'data')).toEqual([]);
    const between = call('wait', {}, null);
    expect(tellEdges(graphOf([[call('get_user', {}, { id: 'W-1001' }), between, later]]), 'data')).toEqual(
      [],
    );
  });

  it('but from a round number of the same name, and from decimals', () => {
    expect(shows({ price: 500 }, { price: 500 })).toHaveLength(1);
    expect(shows({ price: 49.95 }, { amount: 49.95 })).toHaveLength(1);
  });
});

describe('pairs', () => {
  const first = call('get_user', {}, { id: 'W-1001' });
  const later = call('get_order', { id: 'W-1001' }, {});

  it('skip meta calls', () => {
    const think = call('think', { thought: 'W-1001' }, 'W-1001', { meta: true });
    const graph = graphOf([[first, think, later]]);
    expect(tellEdges(graph)).toEqual(['data: get_user → get_order (id ⇒ id) ×1']);
    expect(graph.nodes.map(({ tool }) => tool)).not.toContain('think');
    expect(only(graph).witnesses[0]).toMatchObject({ from: 0, to: 1 });
  });

  it('never cross callers: the agent does not see what the user’s device returns', () => {
    const user = call('read_sms', {}, { code: 'W-1001' }, { caller: 'user' });
    expect(tellEdges(graphOf([[user, later]]))).toEqual([]);
    expect(tellEdges(graphOf([[first, user, later]]))).toEqual(['data: get_user → get_order (id ⇒ id) ×1']);
  });

  it('keep the user’s tools in a name space of their own, or out', () => {
    const calls = [first, call('get_user', {}, {}, { caller: 'user' })];
    expect(graphOf([calls]).nodes.map(({ tool }) => tool)).toEqual(['get_user', 'user:get_user']);
    expect(graphOf([calls], { callers: ['agent'] }).nodes.map(({ tool }) => tool)).toEqual(['get_user']);
  });
});

describe('values inside text', () => {
  const calls = [call('search', {}, 'see order W-1001, shipped'), call('get_order', { id: 'W-1001' }, {})];

  it('are counted apart, taken on demand, or not looked for', () => {
    expect(graphOf([calls]).edges).toEqual([]);
    expect(graphOf([calls]).sources[0]).toMatchObject({ loose: 1, edges: { data: 0 } });
    expect(tellEdges(graphOf([calls], { loose: 'edges' }))).toEqual(['data: search → get_order ( ⇒ id) ×1']);
    expect(graphOf([calls], { loose: 'off' }).sources[0]).not.toHaveProperty('loose');
  });

  it('stand delimited', () => {
    const inside = [call('search', {}, 'see order XW-10012'), call('get_order', { id: 'W-1001' }, {})];
    expect(graphOf([inside]).sources[0]?.loose).toBe(0);
  });
});
