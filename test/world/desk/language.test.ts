import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { canonicalJson } from '../../../src/base/json.ts';
import { Rng } from '../../../src/base/rng.ts';
import { callsOf } from '../../../src/trace/model.ts';
import { createDesk } from '../../../src/world/desk/create.ts';
import { desk } from '../../../src/world/desk/index.ts';
import { drawJob } from '../../../src/world/desk/jobs.ts';
import { DESK_LANGUAGE } from '../../../src/world/desk/language.ts';
import { ADDRESSES, PEOPLE, TICKETS } from '../../../src/world/desk/names.ts';
import type { Action } from '../../../src/world/language.ts';
import type { Goal, Ref, Request, Root } from '../../../src/world/request.ts';
import { argsOf, choices } from './moves.ts';

const language = DESK_LANGUAGE;
const { lexicon } = desk;
const value = fc.constantFrom<Json>(
  ...TICKETS,
  ...PEOPLE,
  ...ADDRESSES,
  'P1',
  'P2',
  'open',
  'closed',
  null,
  8,
  904,
);
const field = fc.constantFrom(...Object.keys(lexicon.fields));
const root: fc.Arbitrary<Root> = fc.oneof(
  fc.record({ id: value }),
  fc.record({
    the: fc.constantFrom(...Object.keys(lexicon.objects)),
    where: fc.dictionary(field, value, { maxKeys: 3, noNullPrototype: true }),
  }),
);
const ref: fc.Arbitrary<Ref> = fc.record({ root, path: fc.array(field, { maxLength: 4 }) });
const writes = desk.tools.filter(({ effect }) => effect !== 'read');
const goal: fc.Arbitrary<Goal> = fc.oneof(
  fc.record({ kind: fc.constant('tell' as const), what: ref }),
  fc.constantFrom(...writes).chain((tool) =>
    fc.record({
      kind: fc.constant('do' as const),
      intent: fc.constant(tool.name),
      args: fc.record(
        Object.fromEntries(Object.keys(tool.inputSchema.properties as JsonObject).map((name) => [name, ref])),
        { noNullPrototype: true },
      ),
    }),
  ),
);
const requests: fc.Arbitrary<Request> = fc.record({ goals: fc.array(goal, { maxLength: 5 }) });

describe('the language of the desk', () => {
  it('has one token for each identifier and at most 150 in all', () => {
    for (const name of [...TICKETS, ...PEOPLE, ...ADDRESSES]) expect(language.vocabulary).toContain(name);
    expect(new Set(language.vocabulary).size).toBe(language.vocabulary.length);
    expect(language.vocabulary.length).toBeLessThanOrEqual(150);
    expect(language.vocabulary[language.end]).toBe('<end>');
  });

  it('says every request that can be made and reads it back', () => {
    fc.assert(
      fc.property(requests, (request) => {
        expect(language.decodeRequest(language.encodeRequest(request))).toEqual(request);
      }),
      { numRuns: 500 },
    );
  });

  it('says every call that fits the schemas, and answers, and reads them back', () => {
    fc.assert(
      fc.property(fc.nat(10_000), choices, fc.array(value, { maxLength: 6 }), (seed, choice, answers) => {
        const args = argsOf(createDesk(seed), { ...choice, junk: null }) as JsonObject;
        const actions: Action[] = [
          { kind: 'call', tool: choice.tool, args },
          { kind: 'done', answers },
        ];
        for (const action of actions) {
          const tokens = language.encodeAction(action);
          expect(language.parseAction(tokens)).toEqual({ ok: true, action });
          expect(tokens.length).toBeLessThanOrEqual(language.longestAction);
        }
      }),
    );
  });

  it('tells different results apart', () => {
    const meanings = new Map<string, string>();
    let results = 0;
    for (let seed = 0; seed < 300; seed++) {
      const world = createDesk(seed);
      for (const [tool, args] of [
        ['list_tickets', {}],
        ['list_tickets', { status: 'closed' }],
        ['list_outbox', {}],
        ['get_ticket', { ticket: world.ids('ticket')[0]! }],
        ['get_person', { person: world.ids('person')[0]! }],
      ] as [string, JsonObject][]) {
        const observation = world.call(tool, args);
        if (!observation.ok) throw new Error(observation.error.message);
        const tokens = language.encodeObservation(tool, observation).join(' ');
        const key = `${tool} ${tokens}`;
        const meaning = canonicalJson(observation.value);
        expect(meanings.get(key) ?? meaning).toBe(meaning);
        meanings.set(key, meaning);
        results++;
      }
    }
    expect(results).toBe(1500);
    expect(meanings.size).toBeGreaterThan(1000);
  });

  it('says everything that happens in the corpus, novices included', () => {
    for (const trajectory of desk.corpus({ seed: 5, trajectories: 150, noviceShare: 0.5 })) {
      for (const call of callsOf(trajectory)) {
        const action: Action = { kind: 'call', tool: call.tool, args: call.args };
        expect(language.parseAction(language.encodeAction(action))).toEqual({ ok: true, action });
        if (call.result !== undefined)
          language.encodeObservation(call.tool, { ok: true, value: call.result });
      }
    }
  });

  it('says every everyday job', () => {
    for (let seed = 0; seed < 200; seed++) {
      const { request } = drawJob(createDesk(seed), new Rng(seed));
      expect(language.decodeRequest(language.encodeRequest(request))).toEqual(request);
    }
  });

  it('has words for every object, field and write of the desk', () => {
    const fields = new Set<string>();
    const visit = (schema: Json | undefined): void => {
      if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
      for (const name of Object.keys((schema.properties as JsonObject | undefined) ?? {})) fields.add(name);
      for (const inner of Object.values(schema)) visit(inner);
    };
    for (const tool of desk.tools) visit(tool.outputSchema);
    for (const name of fields) expect(lexicon.fields, name).toHaveProperty(name);
    for (const tool of writes) {
      const slots = (tool.inputSchema.required as string[]).map((name) => `{${name}}`);
      expect(lexicon.intents[tool.name]?.length, tool.name).toBeGreaterThan(0);
      for (const phrase of lexicon.intents[tool.name]!) {
        expect(phrase.match(/\{\w+\}/g)?.sort()).toEqual(slots.sort());
      }
    }
  });
});
