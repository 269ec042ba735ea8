import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { createDesk } from '../../../src/world/desk/create.ts';
import { checkDesk } from '../../../src/world/desk/rules.ts';
import { type Mail, mailOf, type Person, type Ticket } from '../../../src/world/desk/state.ts';
import { DESK_TOOLS } from '../../../src/world/desk/tools.ts';
import { createWorld } from '../../../src/world/kit/world.ts';
import { choices, play } from './moves.ts';

const people: Person[] = [
  { id: 'u.okafor', email: 'heron@mail.example', manager: null },
  { id: 's.iyer', email: 'otter@mail.example', manager: 'u.okafor' },
];
const ticket = (fields: Partial<Ticket> = {}): Ticket => ({
  ...{ id: 'T-4471', priority: 'P1', status: 'open', age: 8, owner: 's.iyer', reminded_at: null },
  ...fields,
});

function build(parts: { tickets?: Ticket[]; people?: Person[]; mails?: Mail[] } = {}) {
  const keyed = (objects: JsonObject[]) =>
    Object.fromEntries(objects.map((object) => [object.id as string, object]));
  const tables = {
    ticket: keyed(parts.tickets ?? [ticket()]),
    person: keyed(parts.people ?? people),
    mail: keyed(parts.mails ?? []),
  };
  return createWorld({ id: 'desk', toolbox: DESK_TOOLS, tables, hours: 1000, seed: 0 });
}

const mail = { to: 'otter@mail.example', ticket: 'T-4471' };
const remind = { ticket: 'T-4471' };

describe('the tools refuse', () => {
  it.each<[string, string, JsonObject, Parameters<typeof build>[0], object]>([
    [
      'a mail to nobody',
      'send_mail',
      { ...mail, to: 'raven@mail.example' },
      {},
      { code: 'not_found', argument: 'to' },
    ],
    [
      'a mail to a name',
      'send_mail',
      { ...mail, to: 's.iyer' },
      {},
      { code: 'invalid_argument', argument: 'to' },
    ],
    [
      'a mail about nothing',
      'send_mail',
      { ...mail, ticket: 'T-0001' },
      {},
      { code: 'not_found', argument: 'ticket' },
    ],
    [
      'the same mail in 24 hours',
      'send_mail',
      mail,
      { mails: [mailOf(mail.to, mail.ticket, 977)] },
      { code: 'conflict', argument: 'to' },
    ],
    ['a mark without a mail', 'mark_reminded', remind, {}, { code: 'conflict', argument: 'ticket' }],
    [
      'a mark after an old mail',
      'mark_reminded',
      remind,
      { mails: [mailOf(mail.to, mail.ticket, 976)] },
      { code: 'conflict' },
    ],
    [
      'a mark twice in 24 hours',
      'mark_reminded',
      remind,
      { tickets: [ticket({ reminded_at: 977 })], mails: [mailOf(mail.to, mail.ticket, 977)] },
      { code: 'conflict' },
    ],
    [
      'a mark on a closed ticket',
      'mark_reminded',
      remind,
      { tickets: [ticket({ status: 'closed' })], mails: [mailOf(mail.to, mail.ticket, 999)] },
      { code: 'conflict' },
    ],
    [
      'closing twice',
      'close_ticket',
      remind,
      { tickets: [ticket({ status: 'closed' })] },
      { code: 'conflict' },
    ],
    ['opening what is open', 'reopen_ticket', remind, {}, { code: 'conflict' }],
    [
      'giving to the owner',
      'assign_ticket',
      { ...remind, person: 's.iyer' },
      {},
      { code: 'conflict', argument: 'person' },
    ],
    [
      'giving to a stranger',
      'assign_ticket',
      { ...remind, person: 'm.novak' },
      {},
      { code: 'not_found', argument: 'person' },
    ],
    [
      'the same priority',
      'set_priority',
      { ...remind, priority: 'P1' },
      {},
      { code: 'conflict', argument: 'priority' },
    ],
    [
      'no such priority',
      'set_priority',
      { ...remind, priority: 'P9' },
      {},
      { code: 'invalid_argument', argument: 'priority' },
    ],
    [
      'an address of nobody',
      'find_person',
      { email: 'raven@mail.example' },
      {},
      { code: 'not_found', argument: 'email' },
    ],
  ])('%s', (_, tool, args, parts, error) => {
    const world = build(parts);
    const before = world.snapshot();
    expect(world.call(tool, args)).toMatchObject({ ok: false, error });
    expect(world.diff(before, world.snapshot())).toEqual([]);
  });
});

describe('the tools do', () => {
  it('let a reminder be sent and marked once a day has passed', () => {
    const world = build({
      tickets: [ticket({ reminded_at: 976 })],
      mails: [mailOf(mail.to, mail.ticket, 976)],
    });
    expect(world.call('send_mail', mail)).toEqual({ ok: true, value: { ...mail, sent_at: 1000 } });
    expect(world.call('mark_reminded', remind)).toEqual({
      ok: true,
      value: { id: 'T-4471', reminded_at: 1000 },
    });
    expect(checkDesk(world)).toEqual([]);
  });

  it('come to one state in whichever order mails go out', () => {
    const other = { to: 'heron@mail.example', ticket: 'T-4471' };
    const one = build();
    const two = build();
    for (const args of [mail, other]) one.call('send_mail', args);
    for (const args of [other, mail]) two.call('send_mail', args);
    expect(two.snapshot().digest()).toBe(one.snapshot().digest());
  });
});

describe('the check of the rules', () => {
  it('finds nothing in a fresh desk, nor after any calls', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.array(choices, { maxLength: 25 }), (seed, history) => {
        const world = createDesk(seed);
        expect(checkDesk(world)).toEqual([]);
        play(world, history);
        expect(checkDesk(world)).toEqual([]);
      }),
    );
  });

  const [head, clerk] = people as [Person, Person];
  it.each<[string, RegExp, Parameters<typeof build>[0]]>([
    ['an owner who is not there', /owner m.novak/, { tickets: [ticket({ owner: 'm.novak' })] }],
    ['a manager who is not there', /manager m.novak/, { people: [head, { ...clerk, manager: 'm.novak' }] }],
    ['two heads', /2 people have no manager/, { people: [head, { ...clerk, manager: null }] }],
    ['managers in a circle', /circle/, { people: [{ ...head, manager: 's.iyer' }, clerk] }],
    ['a shared address', /share an address/, { people: [head, { ...clerk, email: head.email }] }],
    ['a reminder without a mail', /without a mail/, { tickets: [ticket({ reminded_at: 990 })] }],
    [
      'a reminder before its mail',
      /without a mail/,
      { tickets: [ticket({ reminded_at: 990 })], mails: [mailOf(mail.to, mail.ticket, 991)] },
    ],
    ['a reminder in the future', /future/, { tickets: [ticket({ reminded_at: 1001 })] }],
    ['a mail in the future', /future/, { mails: [mailOf(mail.to, mail.ticket, 1001)] }],
    ['a mail to nobody', /went to nobody/, { mails: [mailOf('raven@mail.example', mail.ticket, 1)] }],
    ['a mail about nothing', /about no ticket/, { mails: [mailOf(mail.to, 'T-0001', 1)] }],
    [
      'two mails in a day',
      /two mails/,
      { mails: [mailOf(mail.to, mail.ticket, 1), mailOf(mail.to, mail.ticket, 20)] },
    ],
  ])('finds %s', (_, problem, parts) => {
    expect(checkDesk(build(parts)).join('; ')).toMatch(problem);
  });
});

describe('a fresh desk', () => {
  it('has five tickets, three or four people, and addresses that say nothing of people', () => {
    const pairs = new Set<string>();
    const sizes = new Set<number>();
    for (let seed = 0; seed < 400; seed++) {
      const world = createDesk(seed);
      expect(world.ids('ticket')).toHaveLength(5);
      sizes.add(world.ids('person').length);
      for (const id of world.ids('person')) pairs.add(`${id} ${world.object('person', id)!.email}`);
    }
    expect([...sizes].sort()).toEqual([3, 4]);
    // About 1,400 draws over 16 × 32 pairs: nearly all must occur if neither tells of the other.
    expect(pairs.size).toBeGreaterThan(450);
  });
});
