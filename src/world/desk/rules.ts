import type { World } from '../kit.ts';
import { REMINDER_HOURS } from './names.ts';
import { MAIL, type Mail, PERSON, type Person, TICKET, type Ticket } from './state.ts';

/**
 * What is wrong with a desk, one sentence each; empty where its rules hold: references resolve, addresses belong to
 * one person, managers lead to one head, nothing was sent or reminded in the future, every reminder that was
 * written down follows a mail about the ticket within 24 hours, and nobody got two mails about one ticket in 24 hours.
 */
export function checkDesk(world: World): string[] {
  const all = <T>(table: string) => world.ids(table).map((id) => world.object(table, id) as T);
  const tickets = all<Ticket>(TICKET);
  const people = all<Person>(PERSON);
  const mails = all<Mail>(MAIL);
  return [
    ...checkPeople(people),
    ...checkTickets(tickets, people, mails, world.now()),
    ...checkMails(mails, tickets, people, world.now()),
  ];
}

function checkPeople(people: Person[]): string[] {
  const byId = new Map(people.map((person) => [person.id, person]));
  const problems: string[] = [];
  const heads = people.filter((person) => person.manager === null);
  if (heads.length !== 1) problems.push(`${heads.length} people have no manager; there must be one head`);
  if (new Set(people.map((person) => person.email)).size < people.length)
    problems.push('two people share an address');
  for (const person of people) {
    let above: Person | undefined = person;
    for (let steps = 0; above && above.manager !== null; steps++) {
      if (steps === people.length) {
        problems.push(`the managers of ${person.id} go round in a circle`);
        break;
      }
      const next: Person | undefined = byId.get(above.manager);
      if (!next) problems.push(`the manager ${above.manager} of ${above.id} does not exist`);
      above = next;
    }
  }
  return problems;
}

function checkTickets(tickets: Ticket[], people: Person[], mails: Mail[], now: number): string[] {
  const ids = new Set(people.map((person) => person.id));
  const problems: string[] = [];
  for (const { id, owner, reminded_at: remindedAt } of tickets) {
    if (!ids.has(owner)) problems.push(`the owner ${owner} of ${id} does not exist`);
    if (remindedAt === null) continue;
    if (remindedAt > now) problems.push(`${id} was reminded in the future`);
    const behind = (mail: Mail) =>
      remindedAt - mail.sent_at >= 0 && remindedAt - mail.sent_at < REMINDER_HOURS;
    if (!mails.some((mail) => mail.ticket === id && behind(mail)))
      problems.push(`${id} was reminded without a mail`);
  }
  return problems;
}

function checkMails(mails: Mail[], tickets: Ticket[], people: Person[], now: number): string[] {
  const ids = new Set(tickets.map((ticket) => ticket.id));
  const addresses = new Set(people.map((person) => person.email));
  const problems: string[] = [];
  const last = new Map<string, number>();
  for (const mail of [...mails].sort((a, b) => a.sent_at - b.sent_at)) {
    if (!ids.has(mail.ticket)) problems.push(`mail ${mail.id} is about no ticket`);
    if (!addresses.has(mail.to)) problems.push(`mail ${mail.id} went to nobody`);
    if (mail.sent_at > now) problems.push(`mail ${mail.id} was sent in the future`);
    const pair = `${mail.ticket} ${mail.to}`;
    const gap = mail.sent_at - (last.get(pair) ?? Number.NEGATIVE_INFINITY);
    if (gap < REMINDER_HOURS)
      problems.push(`${mail.to} got two mails about ${mail.ticket} within ${gap} hours`);
    last.set(pair, mail.sent_at);
  }
  return problems;
}
