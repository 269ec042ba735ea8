import { Rng } from '../../base/rng.ts';
import type { PlainTables } from '../kit/state.ts';
import { ADDRESSES, AGES, EARLIER, OPENING, PEOPLE, TICKETS } from './names.ts';
import { type Mail, mailOf, type Person, type Priority, type Ticket } from './state.ts';

/** Tickets in one world. */
export const TICKETS_IN_A_WORLD = 5;

/** Shares of priorities, and of tickets that are open, were reminded lately (under 24 h), were reminded long ago. */
const SHARES = { priorities: { P1: 0.5, P2: 0.3, P3: 0.2 }, open: 0.75, lately: 0.25, longAgo: 0.25 };

/**
 * The desk as it opens, drawn from a seed: 3 or 4 people under one head, 5 tickets, and one mail for each reminder
 * that was given earlier. Identifiers are drawn afresh, addresses independently of people.
 */
export function drawDesk(seed: number | string): PlainTables {
  const rng = new Rng(seed).fork('desk');
  const people = drawPeople(rng);
  const mails: Mail[] = [];
  const tickets = rng.sample(TICKETS, TICKETS_IN_A_WORLD).map((id): Ticket => {
    const owner = rng.pick(people);
    const remindedAt = drawReminder(rng);
    if (remindedAt !== null) mails.push(mailOf(owner.email, id, remindedAt));
    return {
      id,
      priority: drawPriority(rng),
      status: rng.chance(SHARES.open) ? 'open' : 'closed',
      age: rng.pick(AGES),
      owner: owner.id,
      reminded_at: remindedAt,
    };
  });
  return { ticket: byId(tickets), person: byId(people), mail: byId(mails) };
}

function drawPeople(rng: Rng): Person[] {
  const ids = rng.sample(PEOPLE, 3 + rng.int(2));
  const addresses = rng.sample(ADDRESSES, ids.length);
  // Everyone reports to somebody drawn before: a tree under the first.
  return ids.map((id, i) => ({
    id,
    email: addresses[i] as string,
    manager: i === 0 ? null : (ids[rng.int(i)] as string),
  }));
}

function drawPriority(rng: Rng): Priority {
  const names = Object.keys(SHARES.priorities) as Priority[];
  return names[rng.weighted(Object.values(SHARES.priorities))] as Priority;
}

function drawReminder(rng: Rng): number | null {
  const kind = rng.weighted([1 - SHARES.lately - SHARES.longAgo, SHARES.lately, SHARES.longAgo]);
  if (kind === 0) return null;
  return rng.pick(EARLIER.filter((time) => (kind === 1) === OPENING - time < 24));
}

function byId<T extends { id: string }>(objects: readonly T[]): Record<string, T> {
  return Object.fromEntries(objects.map((object) => [object.id, object]));
}
