import type { Json } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { World } from '../kit.ts';
import type { Goal, Ref, Request, Root } from '../request.ts';
import { mayRemind } from './due.ts';
import { REMIND_DUE } from './lexicon.ts';
import { PRIORITIES } from './names.ts';
import { MAIL, type Mail, PERSON, type Person, TICKET, type Ticket } from './state.ts';

/** An everyday job of the desk: what is asked, in tokens' terms and in words. */
export interface Job {
  kind: string;
  request: Request;
  text: string;
}

/** The desk as whoever hands out the jobs sees it. */
interface View {
  tickets: Ticket[];
  people: Person[];
  mails: Mail[];
  now: number;
}

/** Draws one job of a kind that can be done; `null` where the desk has no occasion for it. */
type Drawer = (view: View, rng: Rng) => Omit<Job, 'kind'> | null;

const ref = (root: Root | string, ...path: string[]): Ref => ({
  root: typeof root === 'string' ? { id: root } : root,
  path,
});
const tell = (what: Ref): Goal => ({ kind: 'tell', what });
const act = (intent: string, args: Record<string, Ref>): Goal => ({ kind: 'do', intent, args });
const mail = (to: Ref, ticket: Ref) => act('send_mail', { to, ticket });
const mark = (ticket: Ref) => act('mark_reminded', { ticket });

const open = (view: View) => view.tickets.filter(({ status }) => status === 'open');
const remindable = (view: View) => open(view).filter((ticket) => mayRemind(ticket.reminded_at, view.now));
const ownerOf = (view: View, { owner }: Ticket) => view.people.find(({ id }) => id === owner)!;
const managed = (view: View, tickets: Ticket[]) => tickets.filter((t) => ownerOf(view, t).manager !== null);
const unmailed = (view: View, ticket: Ticket, email: string) =>
  !view.mails.some((m) => m.ticket === ticket.id && m.to === email && !mayRemind(m.sent_at, view.now));
const pick = <T>(rng: Rng, items: readonly T[]): T | null => (items.length > 0 ? rng.pick(items) : null);

/** A ticket as its reader is told of it: by its id, or by a description that fits it alone. */
function name(view: View, ticket: Ticket, rng: Rng): { root: Root; words: string } {
  const { priority, status, age } = ticket;
  for (const where of rng.chance(0.3)
    ? [
        { priority, status },
        { priority, age },
      ]
    : []) {
    const conditions: [string, Json][] = Object.entries(where);
    if (view.tickets.filter((t) => conditions.every(([key, value]) => t[key] === value)).length > 1) continue;
    const words =
      'status' in where ? `the ${status} ${priority} ticket` : `the ${priority} ticket of ${age} days`;
    return { root: { the: 'ticket', where }, words };
  }
  return { root: { id: ticket.id }, words: `ticket ${ticket.id}` };
}

const remind: Drawer = (view, rng) => {
  const ticket = pick(rng, remindable(view));
  if (!ticket) return null;
  const { root, words } = name(view, ticket, rng);
  return {
    request: { goals: [mail(ref(root, 'owner', 'email'), ref(root)), mark(ref(root))] },
    text: `Please remind the owner of ${words} by mail and note the reminder.`,
  };
};

const closeAfterReminding: Drawer = (view, rng) => {
  const ticket = pick(rng, remindable(view));
  if (!ticket) return null;
  const { id } = ticket;
  return {
    request: {
      goals: [
        mail(ref(id, 'owner', 'email'), ref(id)),
        mark(ref(id)),
        act('close_ticket', { ticket: ref(id) }),
      ],
    },
    text: `Remind the owner of ${id} one last time, note it, then close the ticket.`,
  };
};

const escalate: Drawer = (view, rng) => {
  const fitting = managed(view, open(view)).filter((ticket) => {
    const manager = view.people.find(({ id }) => id === ownerOf(view, ticket).manager)!;
    return ticket.priority !== 'P1' && unmailed(view, ticket, manager.email);
  });
  const ticket = pick(rng, fitting);
  if (!ticket) return null;
  const { root, words } = name(view, ticket, rng);
  const raise = act('set_priority', { ticket: ref(root), priority: ref('P1') });
  return {
    // The description may speak of the priority, so it is used before the priority changes.
    request: { goals: [mail(ref(root, 'owner', 'manager', 'email'), ref(root)), raise] },
    text: `Escalate ${words}: write to the manager of its owner, and make it a P1.`,
  };
};

const handUp: Drawer = (view, rng) => {
  const fitting = managed(view, open(view)).filter((ticket) => {
    const manager = view.people.find(({ id }) => id === ownerOf(view, ticket).manager)!;
    return unmailed(view, ticket, manager.email);
  });
  const ticket = pick(rng, fitting);
  if (!ticket) return null;
  const { id } = ticket;
  const goals = [
    mail(ref(id, 'owner', 'manager', 'email'), ref(id)),
    act('assign_ticket', { ticket: ref(id), person: ref(id, 'owner', 'manager') }),
  ];
  return {
    request: { goals },
    text: `The manager of the owner of ${id} takes the ticket over. Let them know and reassign it.`,
  };
};

const reopen: Drawer = (view, rng) => {
  const ticket = pick(
    rng,
    view.tickets.filter(({ status }) => status === 'closed'),
  );
  if (!ticket) return null;
  const { id } = ticket;
  const next = pick(
    rng,
    view.people.filter((person) => person.id !== ticket.owner && unmailed(view, ticket, person.email)),
  )!;
  if (!next || rng.chance(0.4)) {
    return {
      request: { goals: [act('reopen_ticket', { ticket: ref(id) })] },
      text: `The customer wrote again about ${id}; open it again.`,
    };
  }
  const goals = [
    act('reopen_ticket', { ticket: ref(id) }),
    act('assign_ticket', { ticket: ref(id), person: ref(next.id) }),
    mail(ref(next.id, 'email'), ref(id)),
  ];
  return { request: { goals }, text: `Open ${id} again, give it to ${next.id}, and mail them about it.` };
};

const close: Drawer = (view, rng) => {
  const ticket = pick(rng, open(view));
  if (!ticket) return null;
  const { root, words } = name(view, ticket, rng);
  return {
    request: { goals: [act('close_ticket', { ticket: ref(root) })] },
    text: `Close ${words}, please.`,
  };
};

const reassign: Drawer = (view, rng) => {
  const ticket = pick(rng, open(view));
  const next =
    ticket &&
    pick(
      rng,
      view.people.filter(({ id }) => id !== ticket.owner),
    );
  if (!next) return null;
  const { id } = ticket;
  const goals = [act('assign_ticket', { ticket: ref(id), person: ref(next.id) })];
  const wordy = unmailed(view, ticket, next.email) && rng.chance(0.5);
  if (wordy) goals.push(mail(ref(id, 'owner', 'email'), ref(id)));
  return {
    request: { goals },
    text: `Give ${id} to ${next.id}${wordy ? ' and let the new owner know by mail' : ''}.`,
  };
};

const reprioritise: Drawer = (view, rng) => {
  const ticket = pick(rng, open(view));
  if (!ticket) return null;
  const { id } = ticket;
  const priority = rng.pick(PRIORITIES.filter((other) => other !== ticket.priority));
  const goals = [act('set_priority', { ticket: ref(id), priority: ref(priority) })];
  const wordy = unmailed(view, ticket, ownerOf(view, ticket).email) && rng.chance(0.5);
  if (wordy) goals.push(mail(ref(id, 'owner', 'email'), ref(id)));
  return { request: { goals }, text: `Set ${id} to ${priority}${wordy ? ' and write to its owner' : ''}.` };
};

const LOOK_UPS: readonly [path: string[], words: string][] = [
  [['owner'], 'Who owns'],
  [['owner', 'email'], 'What is the address of the owner of'],
  [['owner', 'manager'], 'Who is the manager of the owner of'],
  [['status'], 'What is the status of'],
  [['reminded_at'], 'When was the last reminder about'],
];

const lookUp: Drawer = (view, rng) => {
  const ticket = rng.pick(view.tickets);
  const [path, question] = rng.pick(LOOK_UPS);
  const { root, words } =
    path[0] === 'status' ? { root: { id: ticket.id }, words: ticket.id } : name(view, ticket, rng);
  return { request: { goals: [tell(ref(root, ...path))] }, text: `${question} ${words}?` };
};

const whoWasMailed: Drawer = (view, rng) => {
  const sole = view.mails.filter(
    ({ ticket }) => view.mails.filter((other) => other.ticket === ticket).length === 1,
  );
  const found = pick(rng, sole);
  if (!found) return null;
  const root: Root = { the: 'mail', where: { ticket: found.ticket } };
  const goals = [tell(ref(root, 'to', 'id'))];
  const more = rng.chance(0.4);
  if (more) goals.push(tell(ref(root, 'to', 'manager')));
  return {
    request: { goals },
    text: `Who got the mail about ${found.ticket}${more ? ', and who is their manager' : ''}?`,
  };
};

const remindAll: Drawer = () => ({
  request: { goals: [act(REMIND_DUE, {})] },
  text:
    'Please remind the owners of all open P1 tickets older than 7 days by mail, unless they were reminded in the ' +
    'last 24 hours, and write the reminder back.',
});

/** Kinds of jobs with how often they come up. */
const KINDS: readonly [kind: string, weight: number, draw: Drawer][] = [
  ['remind-all', 5, remindAll],
  ['remind', 4, remind],
  ['close-after-reminding', 2, closeAfterReminding],
  ['escalate', 3, escalate],
  ['hand-up', 2, handUp],
  ['reopen', 2, reopen],
  ['close', 1, close],
  ['reassign', 2, reassign],
  ['reprioritise', 2, reprioritise],
  ['look-up', 3, lookUp],
  ['who-was-mailed', 2, whoWasMailed],
];

/** Names of the kinds of jobs. */
export const JOB_KINDS: readonly string[] = KINDS.map(([kind]) => kind);

/** A job that can be done on the desk as it stands; of one kind where `only` says so, `null` where that has no occasion. */
export function drawJob(world: World, rng: Rng): Job;
export function drawJob(world: World, rng: Rng, only: string): Job | null;
export function drawJob(world: World, rng: Rng, only?: string): Job | null {
  const view = viewOf(world);
  let left = KINDS.filter(([kind]) => only === undefined || kind === only);
  while (left.length > 0) {
    const chosen = left[rng.weighted(left.map(([, weight]) => weight))]!;
    const [kind, , draw] = chosen;
    const job = draw(view, rng);
    if (job) return { kind, ...job };
    left = left.filter((other) => other !== chosen);
  }
  return null;
}

function viewOf(world: World): View {
  const all = <T>(table: string) => world.ids(table).map((id) => world.object(table, id) as T);
  return {
    tickets: all<Ticket>(TICKET),
    people: all<Person>(PERSON),
    mails: all<Mail>(MAIL),
    now: world.now(),
  };
}
