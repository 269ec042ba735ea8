import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/trace/model.ts';
import { call, failed, graphOf, only, tellEdges } from './make.ts';

const state = (...calls: Call[]): string[] => tellEdges(graphOf([calls]), 'state');

describe('a state edge', () => {
  it('joins a write to what reads or writes the same object', () => {
    const edge = only(
      graphOf([
        [
          call('update_order', { order_id: 'W-1', note: 'a' }, 'ok'),
          call('get_order', { order_id: 'W-1' }, {}),
        ],
      ]),
    );
    expect(edge).toMatchObject({
      kind: 'state',
      bindings: [{ source: 'args.order_id', target: 'order_id', count: 1 }],
    });
    expect(edge.witnesses[0]).toMatchObject({ source: 'args.order_id', target: 'order_id', value: 'W-1' });
  });

  it('knows the object by the id that its creation gave back', () => {
    expect(
      state(call('create_deck', { title: 'x' }, { deck_id: 'd1' }), call('add_slide', { deck_id: 'd1' }, {})),
    ).toEqual(['state: create_deck → add_slide (deck_id ⇒ deck_id) ×1']);
  });

  it('knows files by their path, under any name', () => {
    expect(
      state(
        call('write_file', { path: '/a/b.md', content: 'x' }, 'ok'),
        call('read', { file_path: '/a/b.md' }, 'x'),
      ),
    ).toHaveLength(1);
  });

  it('knows identifiers from elsewhere in the corpus where a field is named after the object', () => {
    const calls = [call('assign', { ticket: 'T7' }, {}), call('close', { ticket: 'T7' }, {})];
    expect(state(...calls)).toEqual([]);
    expect(
      tellEdges(graphOf([calls, [call('list', {}, { tickets: [{ id: 'T7' }] })]]), 'state'),
    ).toHaveLength(1);
  });

  it('reads a bare id by the noun of the tool', () => {
    expect(state(call('update_item', { id: 5 }, {}), call('get_item', { id: 5 }, {}))).toHaveLength(1);
    expect(state(call('update_item', { id: 5 }, {}), call('get_order', { id: 5 }, {}))).toEqual([]);
  });
});

describe('no state edge', () => {
  it('from an equal value that names nothing', () => {
    const graph = graphOf([
      [call('update_order', { status: 'shipped' }, {}), call('find_orders', { status: 'shipped' }, [])],
    ]);
    expect(tellEdges(graph)).toEqual([]);
    expect(graph.pruned).toEqual({ unidentified: 1 });
  });

  it('between objects of two kinds with equal numbers', () => {
    expect(state(call('update_user', { user_id: 17 }, {}), call('get_order', { order_id: 17 }, {}))).toEqual(
      [],
    );
  });

  it('from a read, nor from a write that failed', () => {
    expect(
      state(call('get_order', { order_id: 'W-1' }, {}), call('get_order', { order_id: 'W-1' }, {})),
    ).toEqual([]);
    expect(
      state(failed('update_order', { order_id: 'W-1' }), call('get_order', { order_id: 'W-1' }, {})),
    ).toEqual([]);
  });

  it('from the place where both work to what they work on', () => {
    const comment = call('add_comment', { repo_id: 'r-9', issue_id: 'i-1' }, {});
    expect(state(comment, call('get_issue', { repo_id: 'r-9', issue_id: 'i-2' }, {}))).toEqual([]);
    expect(state(comment, call('get_issue', { repo_id: 'r-9', issue_id: 'i-1' }, {}))).toHaveLength(1);
  });

  it('from an object that the written one refers to', () => {
    const result = { reservation_id: 'R-11', user_id: 'mia_1', payments: [{ payment_id: 'card_17' }] };
    const cancel = call('cancel_reservation', { reservation_id: 'R-11' }, result);
    expect(state(cancel, call('get_user', { user_id: 'mia_1' }, {}))).toEqual([]);
    expect(state(cancel, call('pay', { payment_id: 'card_17' }, {}))).toEqual([]);
  });

  it('from what the write refers to, where an argument is named after the written object', () => {
    const people = [call('list', {}, { tickets: [{ id: 'T7' }, { id: 'T8' }], people: [{ id: 'anna' }] })];
    const assign = call('assign_ticket', { ticket: 'T7', person: 'anna' }, 'ok');
    const edges = (next: Call) => tellEdges(graphOf([people, [assign, next]]), 'state');
    expect(edges(call('get_person', { person: 'anna' }, {}))).toEqual([]);
    expect(edges(call('get_ticket', { ticket: 'T7' }, {}))).toHaveLength(1);
    // An argument named after the tool that is no object leaves the object to the others.
    const set = call('set_priority', { priority: 'P1', ticket: 'T7' }, 'ok');
    expect(
      tellEdges(graphOf([people, [set, call('get_ticket', { ticket: 'T7' }, {})]]), 'state'),
    ).toHaveLength(1);
  });

  it('where the effect is said to be a read', () => {
    const calls = [call('update_order', { order_id: 'W-1' }, {}), call('get_order', { order_id: 'W-1' }, {})];
    expect(graphOf([calls], { effectOf: () => 'read' }).edges).toEqual([]);
  });
});

describe('a retry edge', () => {
  const retries = (...calls: Call[]): string[] => tellEdges(graphOf([calls]), 'retry');

  it('leads from a failure to other arguments that succeed, and keeps the error', () => {
    const edge = only(
      graphOf([
        [failed('book', { seats: 3, day: 'mon' }, 'full'), call('book', { seats: 2, day: 'mon' }, 'ok')],
      ]),
    );
    expect(edge.kind).toBe('retry');
    expect(edge.bindings).toEqual([]);
    expect(edge.witnesses[0]).toMatchObject({ source: 'full', target: 'seats', value: '2' });
  });

  it('leads to another tool that succeeds', () => {
    expect(retries(failed('book', { a: 1 }), call('search', { a: 1 }, []))).toEqual([
      'retry: book → search () ×1',
    ]);
  });

  it('sees an argument that was added or taken away', () => {
    expect(retries(failed('book', { a: 1 }), call('book', {}, []))).toHaveLength(1);
    expect(retries(failed('book', { a: 1 }), call('book', { a: 1, b: true }, []))).toHaveLength(1);
  });

  it('is not the same call again, nor a second failure, nor one whose result nobody saw', () => {
    expect(retries(failed('book', { a: 1, b: 'x' }), call('book', { b: 'x', a: 1 }, 'ok'))).toEqual([]);
    expect(retries(failed('book', { a: 1 }), failed('book', { a: 2 }))).toEqual([]);
    expect(retries(failed('book', { a: 1 }), call('book', { a: 2 }, undefined))).toEqual([]);
  });

  it('leaves meta calls out on both sides', () => {
    const think = call('think', {}, '', { meta: true });
    expect(retries(failed('book', { a: 1 }), think, call('book', { a: 2 }, 'ok'))).toEqual([
      'retry: book → book () ×1',
    ]);
    expect(retries(failed('think', {}, 'x', { meta: true }), call('book', { a: 2 }, 'ok'))).toEqual([]);
  });

  it('keeps 80 characters of a long error', () => {
    const edge = only(graphOf([[failed('book', {}, 'e'.repeat(500)), call('find', {}, 'ok')]]));
    expect(edge.witnesses[0]?.source).toHaveLength(80);
  });
});
