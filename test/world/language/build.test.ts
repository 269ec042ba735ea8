import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import type { WorldTool } from '../../../src/world/kit.ts';
import { languageFor } from '../../../src/world/language/build.ts';

const object = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const word: JsonObject = { type: 'string' };
const flag: JsonObject = { type: 'boolean' };
const words: JsonObject = { type: 'array', items: word, maxItems: 3 };

/** A tool with every shape of argument and result that a language carries. */
const order: WorldTool = {
  name: 'order',
  description: '',
  inputSchema: object({ tags: words, item: word, gift: flag, notes: words }, ['item', 'tags']),
  outputSchema: object({
    id: word,
    lines: { type: 'array', items: object({ item: word, parts: { type: 'array', items: word } }) },
    buyer: object({ id: word, gift: { type: ['boolean', 'null'] } }),
  }),
  effect: 'write',
};
const look: WorldTool = {
  name: 'look',
  description: '',
  inputSchema: object({}),
  outputSchema: { type: ['string', 'null'] },
  effect: 'read',
};
const values = ['a', 'b', 'c', 7, '8'];
const language = languageFor({ tools: [order, look], objects: ['thing'], values, standing: ['tidy_up'] });
const say = (tokens: number[]) => tokens.map((token) => language.vocabulary[token]).join(' ');

describe('a language made from schemas', () => {
  it('says required arguments in order, optional ones by name, lists closed', () => {
    const args = { notes: ['c'], item: 'a', gift: true, tags: ['b', 'c'] };
    const tokens = language.encodeAction({ kind: 'call', tool: 'order', args });
    expect(say(tokens)).toBe('order b c ] a .gift true .notes c ] <end>');
    expect(language.parseAction(tokens)).toEqual({ ok: true, action: { kind: 'call', tool: 'order', args } });
    expect(language.parseAction(tokens.slice(0, -1)).ok).toBe(true);
    expect(language.longestAction).toBe(1 + 4 + 1 + 2 + 5 + 1);
  });

  it('says results in the order of the schema', () => {
    const value = {
      buyer: { gift: null, id: 'a' },
      id: '8',
      lines: [
        { item: 'a', parts: ['b', 'c'] },
        { item: 'b', parts: [] },
      ],
    };
    const tokens = language.encodeObservation('order', { ok: true, value });
    expect(say(tokens)).toBe('8 a b c ] b ] ] a null <turn>');
    expect(say(language.encodeObservation('look', { ok: true, value: null }))).toBe('null <turn>');
    const error = { code: 'conflict', message: 'sold out', argument: 'item' } as const;
    expect(say(language.encodeObservation('order', { ok: false, error }))).toBe('!conflict <turn>');
  });

  it('says requests with descriptions, paths, optional arguments and standing orders', () => {
    const request = {
      goals: [
        { kind: 'do' as const, intent: 'tidy_up', args: {} },
        {
          kind: 'do' as const,
          intent: 'order',
          args: {
            item: { root: { the: 'thing', where: { item: 'a', gift: false } }, path: ['buyer', 'id'] },
            tags: { root: { id: 'b' }, path: [] },
            gift: { root: { id: true }, path: [] },
          },
        },
        { kind: 'tell' as const, what: { root: { id: 7 }, path: ['item'] } },
      ],
    };
    const tokens = language.encodeRequest(request);
    expect(say(tokens)).toBe(
      '<bos> do:tidy_up do:order b the:thing .item a .gift false ; .buyer .id with .gift true tell 7 .item <turn>',
    );
    expect(language.decodeRequest(tokens)).toEqual(request);
  });

  it('refuses what it has no token for, and says what that is', () => {
    const call = (args: JsonObject) => () => language.encodeAction({ kind: 'call', tool: 'order', args });
    expect(call({ item: 'z', tags: [] })).toThrow(/"z"/);
    expect(call({ item: 'a' })).toThrow(/"tags" is missing/);
    expect(call({ item: 'a', tags: [], colour: 'a' })).toThrow(/"colour"/);
    expect(call({ item: 'a', tags: ['a', 'a', 'a', 'a'] })).toThrow(/at most 3/);
    expect(() => language.encodeAction({ kind: 'call', tool: 'fly', args: {} })).toThrow(/"fly"/);
    expect(() => language.encodeAction({ kind: 'done', answers: new Array<Json>(7).fill('a') })).toThrow(
      /room for 6/,
    );
    expect(() => language.encodeRequest({ goals: [{ kind: 'do', intent: 'look', args: {} }] })).toThrow(
      LabError,
    );
  });

  it('tells a text from the number that is written like it, or refuses the vocabulary', () => {
    expect(language.vocabulary.filter((text) => text === '7' || text === '8')).toHaveLength(2);
    expect(() => languageFor({ tools: [look], objects: [], values: [8, '8'] })).toThrow(/twice|both/);
  });

  it('refuses schemas that a fixed order cannot carry', () => {
    const absent: WorldTool = { ...look, outputSchema: object({ a: word }, []) };
    const nested: WorldTool = { ...look, inputSchema: object({ a: object({ b: word }) }) };
    expect(() => languageFor({ tools: [absent], objects: [], values })).toThrow(/may be absent/);
    expect(() => languageFor({ tools: [nested], objects: [], values })).toThrow(/no single value/);
  });
});

describe('reading an action', () => {
  const size = language.vocabulary.length;
  const id = (text: string) => language.vocabulary.indexOf(text);
  const likely = fc.constantFrom(...['a', 'b', ']', '.gift', '.notes', 'true', '<end>'].map(id));
  const tokens = fc.oneof(
    fc.array(fc.integer({ min: -1, max: size }), { maxLength: 14 }),
    fc.array(likely, { maxLength: 9 }).map((rest) => [id('order'), id(']'), id('a'), ...rest]),
    fc.array(likely, { maxLength: 8 }).map((rest) => [id('done'), ...rest]),
  );

  it('never throws, and what it reads is what would be said', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.oneof(tokens, fc.array(fc.double())), (list) => {
        const parsed = language.parseAction(list);
        if (!parsed.ok) {
          expect(parsed.why.length).toBeGreaterThan(0);
          return;
        }
        read++;
        // Optional arguments may come in any order; said again they come in the schema's.
        const said = language.encodeAction(parsed.action);
        const closed = list.at(-1) === language.end ? list : [...list, language.end];
        expect([...said].sort()).toEqual([...closed].sort());
        expect(said.length).toBeLessThanOrEqual(language.longestAction);
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(50);
  });

  it.each([
    ['nothing', []],
    ['an argument twice', ['order', ']', 'a', '.gift', 'true', '.gift', 'false', '<end>']],
    ['a required argument by name', ['look', '.item', 'a']],
    ['more after the end', ['look', '<end>', '<end>']],
    ['too few arguments', ['order', 'a', ']', '<end>']],
    ['a turn in the middle', ['done', '<turn>']],
  ])('says what is wrong with %s', (_, list) => {
    const parsed = language.parseAction(list.map(id));
    expect(parsed).toMatchObject({ ok: false, why: expect.any(String) });
  });
});
