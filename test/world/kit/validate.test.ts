import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { createDesk } from '../../../src/world/desk/create.ts';
import { compileArguments } from '../../../src/world/kit/validate.ts';

const check = compileArguments({
  type: 'object',
  properties: {
    to: { type: 'string', pattern: '^[a-z]+@mail\\.example$', description: 'an e-mail address' },
    count: { type: 'integer', minimum: 1, maximum: 5 },
    tags: { type: 'array', items: { type: 'string', enum: ['red', 'blue'] }, maxItems: 2 },
    'odd/na~me': { type: 'boolean' },
  },
  required: ['to'],
  additionalProperties: false,
});

describe('arguments', () => {
  it('passes what fits', () => {
    expect(check({ to: 'heron@mail.example' })).toBeNull();
    expect(check({ to: 'heron@mail.example', count: 5, tags: ['red'], 'odd/na~me': true })).toBeNull();
  });

  it.each<[string, Json, string]>([
    ['a missing one', {}, 'to'],
    ['the wrong type', { to: 7 }, 'to'],
    ['the wrong form', { to: 'u.okafor' }, 'to'],
    ['a number out of range', { to: 'heron@mail.example', count: 6 }, 'count'],
    ['an item of a list', { to: 'heron@mail.example', tags: ['red', 'green'] }, 'tags'],
    ['one that does not exist', { to: 'heron@mail.example', cc: 1 }, 'cc'],
    ['a name that a pointer must escape', { to: 'heron@mail.example', 'odd/na~me': 1 }, 'odd/na~me'],
  ])('names %s', (_, args, argument) => {
    const error = check(args);
    expect(error).toMatchObject({ code: 'invalid_argument', argument });
    expect(error?.message).toContain(`"${argument}"`);
  });

  it('tells what the argument is for, and which arguments there are', () => {
    expect(check({ to: 'x' })?.message).toContain('an e-mail address');
    expect(check({ to: 'heron@mail.example', cc: 1 })?.message).toContain('to, count, tags');
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['text', 'to'],
    ['nothing', undefined],
    ['a function', { to: () => 1 }],
    ['something not finite', { to: Number.NaN }],
    ['half a character', { '\ud800': 1 }],
  ])('refuses %s without throwing', (_, args) => {
    expect(check(args as Json)?.code).toBe('invalid_argument');
  });

  it('refuses what is nested too deeply before walking it', () => {
    let deep: Json = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(check({ to: deep })?.code).toBe('invalid_argument');
  });
});

describe('a call with anything at all', () => {
  it('gets an answer, is logged, and leaves prototypes alone', () => {
    const tools = createDesk(0).tools.map(({ name }) => name);
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...tools), fc.string()), fc.jsonValue(), (tool, args) => {
        const world = createDesk(1);
        const digest = world.snapshot().digest();
        const observation = world.call(tool, args as Json);
        expect(world.log).toHaveLength(1);
        if (!observation.ok)
          expect(observation.error.code).toBe(tools.includes(tool) ? 'invalid_argument' : 'unknown_tool');
        expect(world.snapshot().digest()).toBe(digest);
      }),
    );
    const world = createDesk(1);
    const observation = world.call('get_ticket', JSON.parse('{"__proto__": {"ticket": "T-1038"}}') as Json);
    expect(observation).toMatchObject({
      ok: false,
      error: { code: 'invalid_argument', argument: '__proto__' },
    });
    expect(Object.getPrototypeOf(world.log[0]!.args)).toBe(Object.prototype);
    expect(Object.keys(world.log[0]!.args)).toEqual(['__proto__']);
  });
});
