import type { JsonObject } from '../../base/json.ts';
import {
  isRefusal,
  type Refusal,
  refuse,
  type ToolContext,
  type ToolDefinition,
  toolbox,
} from '../kit/tools.ts';
import { REMINDER_HOURS } from './names.ts';
import { closed, list, schema } from './schemas.ts';
import { MAIL, type Mail, mailOf, PERSON, type Person, type Priority, TICKET, type Ticket } from './state.ts';

const ticketOf = (context: ToolContext, id: string) =>
  (context.get(TICKET, id) as Ticket | null) ?? refuse('not_found', `there is no ticket ${id}`, 'ticket');

const personOf = (context: ToolContext, id: string) =>
  (context.get(PERSON, id) as Person | null) ?? refuse('not_found', `there is no person ${id}`, 'person');

const holderOf = (context: ToolContext, email: string, argument: string) =>
  (context.select(PERSON, (person) => person.email === email)[0] as Person | undefined) ??
  refuse('not_found', `the address ${email} belongs to nobody`, argument);

const recent = (now: number, time: number | null) => time !== null && now - time < REMINDER_HOURS;

const mailRow = ({ ticket, to, sent_at }: Mail): JsonObject => ({ ticket, to, sent_at });

/** Changes an open ticket, or refuses. */
function changeOpen(
  context: ToolContext,
  id: string,
  change: (ticket: Ticket) => Partial<Ticket> | Refusal,
): JsonObject | Refusal {
  const ticket = ticketOf(context, id);
  if (isRefusal(ticket)) return ticket;
  if (ticket.status === 'closed') return refuse('conflict', `ticket ${id} is closed`, 'ticket');
  const fields = change(ticket);
  if (isRefusal(fields)) return fields;
  context.patch(TICKET, id, fields as JsonObject);
  return { id, ...(fields as JsonObject) };
}

const listTickets: ToolDefinition<{ status?: string; priority?: string }> = {
  name: 'list_tickets',
  description: 'Lists the tickets of the desk, all of them or those with a status or a priority.',
  inputSchema: closed({ status: schema.status, priority: schema.priority }, []),
  outputSchema: closed({
    tickets: list({
      id: schema.ticket,
      priority: schema.priority,
      status: schema.status,
      age: schema.age,
      reminded_at: schema.pastTime,
    }),
  }),
  effect: 'read',
  run: ({ status, priority }, context) => ({
    tickets: context
      .select(TICKET, (ticket) => fits(ticket.status, status) && fits(ticket.priority, priority))
      .map(
        ({ id, priority, status, age, reminded_at }) =>
          ({ id, priority, status, age, reminded_at }) as JsonObject,
      ),
  }),
};

const fits = (value: unknown, wanted: string | undefined) => wanted === undefined || value === wanted;

const getTicket: ToolDefinition<{ ticket: string }> = {
  name: 'get_ticket',
  description:
    'Shows one ticket: priority, status, age in days, owner, and when the owner was last reminded.',
  inputSchema: closed({ ticket: schema.ticket }),
  outputSchema: closed({
    id: schema.ticket,
    priority: schema.priority,
    status: schema.status,
    age: schema.age,
    owner: schema.person,
    reminded_at: schema.pastTime,
  }),
  effect: 'read',
  run: ({ ticket }, context) => ticketOf(context, ticket),
};

const personSchema = closed({ id: schema.person, email: schema.email, manager: schema.nobodyOrPerson });

const getPerson: ToolDefinition<{ person: string }> = {
  name: 'get_person',
  description: 'Shows one person of the desk: e-mail address and manager.',
  inputSchema: closed({ person: schema.person }),
  outputSchema: personSchema,
  effect: 'read',
  run: ({ person }, context) => personOf(context, person),
};

const findPerson: ToolDefinition<{ email: string }> = {
  name: 'find_person',
  description: 'Finds the person to whom an e-mail address belongs.',
  inputSchema: closed({ email: schema.email }),
  outputSchema: personSchema,
  effect: 'read',
  run: ({ email }, context) => holderOf(context, email, 'email'),
};

const listOutbox: ToolDefinition<{ ticket?: string }> = {
  name: 'list_outbox',
  description: 'Lists the mails that were sent, all of them or those about one ticket, oldest first.',
  inputSchema: closed({ ticket: schema.ticket }, []),
  outputSchema: closed({ mails: list({ ticket: schema.ticket, to: schema.email, sent_at: schema.time }) }),
  effect: 'read',
  run: ({ ticket }, context) => {
    if (ticket !== undefined) {
      const found = ticketOf(context, ticket);
      if (isRefusal(found)) return found;
    }
    const mails = context.select(MAIL, (mail) => fits(mail.ticket, ticket)) as Mail[];
    return { mails: mails.sort((a, b) => a.sent_at - b.sent_at).map(mailRow) };
  },
};

const sendMail: ToolDefinition<{ to: string; ticket: string }> = {
  name: 'send_mail',
  description: 'Sends a mail about a ticket to an e-mail address. A mail cannot be taken back.',
  inputSchema: closed({ to: schema.email, ticket: schema.ticket }),
  outputSchema: closed({ ticket: schema.ticket, to: schema.email, sent_at: schema.time }),
  effect: 'irreversible',
  run: ({ to, ticket }, context) => {
    const about = ticketOf(context, ticket);
    if (isRefusal(about)) return about;
    const holder = holderOf(context, to, 'to');
    if (isRefusal(holder)) return holder;
    const same = (mail: JsonObject) => mail.ticket === ticket && mail.to === to;
    const earlier = context.select(MAIL, (mail) => same(mail) && recent(context.now, mail.sent_at as number));
    if (earlier.length > 0) {
      return refuse('conflict', `${to} had a mail about ${ticket} in the last ${REMINDER_HOURS} hours`, 'to');
    }
    const mail = mailOf(to, ticket, context.now);
    context.put(MAIL, mail.id, mail);
    return mailRow(mail);
  },
};

const markReminded: ToolDefinition<{ ticket: string }> = {
  name: 'mark_reminded',
  description: 'Writes into an open ticket that its owner has been reminded now, after a mail about it.',
  inputSchema: closed({ ticket: schema.ticket }),
  outputSchema: closed({ id: schema.ticket, reminded_at: schema.time }),
  effect: 'write',
  run: ({ ticket }, context) =>
    changeOpen(context, ticket, ({ reminded_at }) => {
      if (recent(context.now, reminded_at)) {
        return refuse(
          'conflict',
          `the owner of ${ticket} was reminded in the last ${REMINDER_HOURS} hours`,
          'ticket',
        );
      }
      const about = (mail: JsonObject) =>
        mail.ticket === ticket && recent(context.now, mail.sent_at as number);
      if (context.select(MAIL, about).length === 0) {
        return refuse(
          'conflict',
          `no mail about ${ticket} was sent in the last ${REMINDER_HOURS} hours`,
          'ticket',
        );
      }
      return { reminded_at: context.now };
    }),
};

const closeTicket: ToolDefinition<{ ticket: string }> = {
  name: 'close_ticket',
  description: 'Closes an open ticket.',
  inputSchema: closed({ ticket: schema.ticket }),
  outputSchema: closed({ id: schema.ticket, status: schema.status }),
  effect: 'write',
  run: ({ ticket }, context) => changeOpen(context, ticket, () => ({ status: 'closed' })),
};

const reopenTicket: ToolDefinition<{ ticket: string }> = {
  name: 'reopen_ticket',
  description: 'Opens a closed ticket again.',
  inputSchema: closed({ ticket: schema.ticket }),
  outputSchema: closed({ id: schema.ticket, status: schema.status }),
  effect: 'write',
  run: ({ ticket }, context) => {
    const found = ticketOf(context, ticket);
    if (isRefusal(found)) return found;
    if (found.status === 'open') return refuse('conflict', `ticket ${ticket} is open already`, 'ticket');
    context.patch(TICKET, ticket, { status: 'open' });
    return { id: ticket, status: 'open' };
  },
};

const assignTicket: ToolDefinition<{ ticket: string; person: string }> = {
  name: 'assign_ticket',
  description: 'Gives an open ticket to another person of the desk.',
  inputSchema: closed({ ticket: schema.ticket, person: schema.person }),
  outputSchema: closed({ id: schema.ticket, owner: schema.person }),
  effect: 'write',
  run: ({ ticket, person }, context) =>
    changeOpen(context, ticket, ({ owner }) => {
      const found = personOf(context, person);
      if (isRefusal(found)) return found;
      if (owner === person)
        return refuse('conflict', `ticket ${ticket} belongs to ${person} already`, 'person');
      return { owner: person };
    }),
};

const setPriority: ToolDefinition<{ ticket: string; priority: Priority }> = {
  name: 'set_priority',
  description: 'Changes the priority of an open ticket.',
  inputSchema: closed({ ticket: schema.ticket, priority: schema.priority }),
  outputSchema: closed({ id: schema.ticket, priority: schema.priority }),
  effect: 'write',
  run: ({ ticket, priority }, context) =>
    changeOpen(context, ticket, (found) => {
      if (found.priority === priority)
        return refuse('conflict', `ticket ${ticket} is ${priority} already`, 'priority');
      return { priority };
    }),
};

/** The desk's tools, compiled. */
export const DESK_TOOLS = toolbox([
  listTickets,
  getTicket,
  getPerson,
  findPerson,
  listOutbox,
  sendMail,
  markReminded,
  closeTicket,
  reopenTicket,
  assignTicket,
  setPriority,
] as readonly ToolDefinition[]);
