import type { Lexicon } from '../kit.ts';

/** The standing order of the desk, as an intent without arguments: see `jobs.ts`. */
export const REMIND_DUE = 'remind_due';

/** How the desk's things are called in plain English. */
export const DESK_LEXICON: Lexicon = {
  objects: { ticket: 'ticket', person: 'person', mail: 'mail' },
  fields: {
    id: 'id',
    ticket: 'ticket',
    tickets: 'tickets',
    priority: 'priority',
    status: 'status',
    age: 'age in days',
    owner: 'owner',
    reminded_at: 'time of the last reminder',
    person: 'person',
    email: 'e-mail address',
    manager: 'manager',
    mails: 'mails',
    to: 'recipient',
    sent_at: 'time of sending',
  },
  intents: {
    send_mail: [
      'mail {to} about {ticket}',
      'write to {to} about {ticket}',
      'send {to} a mail concerning {ticket}',
    ],
    mark_reminded: ['note the reminder on {ticket}', 'record in {ticket} that its owner has been reminded'],
    close_ticket: ['close {ticket}', 'set {ticket} to closed', 'see that {ticket} is closed'],
    reopen_ticket: ['reopen {ticket}', 'open {ticket} again'],
    assign_ticket: [
      'hand {ticket} to {person}',
      'make {person} the owner of {ticket}',
      'pass {ticket} on to {person}',
    ],
    set_priority: ['set the priority of {ticket} to {priority}', 'make {ticket} a {priority}'],
    [REMIND_DUE]: [
      'remind the owner of every open P1 ticket older than 7 days who was not reminded in the last 24 hours, and note it',
    ],
  },
};
