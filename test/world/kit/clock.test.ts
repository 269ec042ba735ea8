import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { refuse, type ToolDefinition, toolbox } from '../../../src/world/kit/tools.ts';
import { createWorld } from '../../../src/world/kit/world.ts';

const none: JsonObject = { type: 'object', properties: {}, additionalProperties: false };
const hours: JsonObject = {
  ...none,
  properties: { hours: { type: 'number', minimum: 0 } },
  required: ['hours'],
};
const base = { description: '', outputSchema: {}, effect: 'write' } as const;

const wait: ToolDefinition<{ hours: number }> = {
  ...base,
  name: 'wait',
  inputSchema: hours,
  run: (args, context) => {
    context.advance(args.hours);
    return context.now;
  },
};
const wipe: ToolDefinition = {
  ...base,
  name: 'wipe',
  inputSchema: none,
  run: (_, context) => {
    context.remove('thing', 'a');
    return null;
  },
};
const regret: ToolDefinition = {
  ...base,
  name: 'regret',
  inputSchema: none,
  run: (_, context) => {
    context.put('thing', 'b', { id: 'b' });
    context.advance(5);
    return refuse('forbidden', 'thought better of it');
  },
};
const tools = [wait, wipe, regret] as readonly ToolDefinition[];

const make = () =>
  createWorld({
    id: 'toy',
    toolbox: toolbox(tools),
    tables: { thing: { a: { id: 'a' } } },
    hours: 10,
    seed: 1,
  });

describe('the clock', () => {
  it('moves by what tools say, is part of the state, and comes back with it', () => {
    const world = make();
    const start = world.snapshot();
    expect(world.call('wait', { hours: 3 })).toEqual({ ok: true, value: 13 });
    expect(world.now()).toBe(13);
    expect(world.diff(start, world.snapshot())).toEqual([
      { table: 'clock', id: 'now', before: { hours: 10 }, after: { hours: 13 } },
    ]);
    expect(world.snapshot().digest()).not.toBe(start.digest());
    world.restore(start);
    expect(world.now()).toBe(10);
  });
});

describe('a tool', () => {
  it('may remove objects; the difference shows what was there', () => {
    const world = make();
    const start = world.snapshot();
    world.call('wipe', {});
    expect(world.ids('thing')).toEqual([]);
    expect(world.object('thing', 'a')).toBeNull();
    expect(world.diff(start, world.snapshot())).toEqual([
      { table: 'thing', id: 'a', before: { id: 'a' }, after: null },
    ]);
    expect(world.diff(world.snapshot(), start)).toEqual([
      { table: 'thing', id: 'a', before: null, after: { id: 'a' } },
    ]);
  });

  it('that refuses after writing has written nothing', () => {
    const world = make();
    const digest = world.snapshot().digest();
    expect(world.call('regret', {})).toEqual({
      ok: false,
      error: { code: 'forbidden', message: 'thought better of it' },
    });
    expect(world.snapshot().digest()).toBe(digest);
    expect(world.now()).toBe(10);
  });

  it('needs a name of its own and an object for its arguments', () => {
    expect(() => toolbox([wipe, wipe])).toThrow(LabError);
    expect(() => toolbox([{ ...wipe, inputSchema: { type: 'string' } }])).toThrow(LabError);
  });
});
