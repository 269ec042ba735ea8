import type { Json } from '../../base/json.ts';
import type { Rng } from '../../base/rng.ts';
import type { Ending, Move, Script } from '../kit/script.ts';
import type { Observation } from '../kit.ts';
import type { Request } from '../request.ts';
import { isTransient } from './expert.ts';
import { ADDRESSES, TICKETS } from './names.ts';

/** How often, per call that is due: a look-up nobody needs, a mistake, an end too soon; and giving up after a refusal. */
const HABITS = { wander: 0.12, slip: 0.3, stop: 0.04, giveUp: 0.15, misreport: 0.08 };

/**
 * The scripted novice: means to do what the expert would do next, and on the way looks up what it does not need,
 * guesses addresses, takes the wrong identifier or tool, does things in the wrong order, switches tools when the
 * environment fails, gives up, stops too soon, or tells the wrong thing. The world answers each of these itself.
 */
export function* novice(script: Script, request: Request, rng: Rng): Script {
  const seen = new Seen(request);
  let step = script.next();
  while (!step.done) {
    const due = step.value;
    if (rng.chance(HABITS.wander)) seen.note(yield wander(seen, rng));
    const slip = rng.chance(HABITS.slip) ? slipInstead(due, request, seen, rng) : null;
    if (slip) {
      const answer = seen.note(yield slip);
      if (!answer.ok && rng.chance(HABITS.giveUp)) return gaveUp(answer);
    }
    const answer = seen.note(yield due);
    if (isTransient(answer)) {
      if (rng.chance(HABITS.giveUp)) return gaveUp(answer);
      if (rng.chance(0.5)) seen.note(yield wander(seen, rng));
    }
    if (rng.chance(HABITS.stop)) return { answers: [], gaveUp: null };
    step = script.next(answer);
  }
  return misreport(step.value, seen, rng);
}

/** The habit of a careful worker: reads a ticket again after changing it. */
export function* careful(script: Script, rng: Rng): Script {
  let step = script.next();
  while (!step.done) {
    const answer = yield step.value;
    const { tool, args } = step.value;
    const changed = answer.ok && !/^(get|list|find)_/.test(tool) && typeof args.ticket === 'string';
    if (changed && rng.chance(0.2)) {
      yield rng.chance(0.7)
        ? { tool: 'get_ticket', args: { ticket: args.ticket as Json } }
        : { tool: 'list_outbox', args: { ticket: args.ticket as Json } };
    }
    step = script.next(answer);
  }
  return step.value;
}

function gaveUp(answer: Observation): Ending {
  return { answers: [], gaveUp: answer.ok ? 'unsure how to go on' : answer.error.message };
}

function misreport(ending: Ending, seen: Seen, rng: Rng): Ending {
  const other = seen.any(/./, rng);
  if (ending.answers.length === 0 || other === null || !rng.chance(HABITS.misreport)) return ending;
  return { ...ending, answers: [other, ...ending.answers.slice(1)] };
}

/** Identifiers and addresses met so far: what a novice mixes up. */
class Seen {
  readonly #texts = new Set<string>();

  constructor(request: Request) {
    this.#collect(request as unknown as Json);
  }

  note(answer: Observation): Observation {
    if (answer.ok) this.#collect(answer.value);
    return answer;
  }

  /** One of those that look so; `null` where there is none. */
  any(look: RegExp, rng: Rng, but?: Json): string | null {
    const fitting = [...this.#texts].filter((text) => look.test(text) && text !== but);
    return fitting.length > 0 ? rng.pick(fitting) : null;
  }

  #collect(value: Json): void {
    if (
      typeof value === 'string' &&
      (TICKET_ID.test(value) || PERSON_ID.test(value) || ADDRESS.test(value))
    ) {
      this.#texts.add(value);
    } else if (typeof value === 'object' && value !== null)
      for (const item of Object.values(value)) this.#collect(item);
  }
}

const TICKET_ID = /^T-/;
const PERSON_ID = /^[a-z]\./;
const ADDRESS = /@/;

function wander(seen: Seen, rng: Rng): Move {
  const ticket = seen.any(TICKET_ID, rng);
  const person = seen.any(PERSON_ID, rng);
  const moves: Move[] = [
    { tool: 'list_tickets', args: {} },
    { tool: 'list_outbox', args: {} },
  ];
  if (ticket) moves.push({ tool: 'get_ticket', args: { ticket } }, { tool: 'list_outbox', args: { ticket } });
  if (person) moves.push({ tool: 'get_person', args: { person } });
  return rng.pick(moves);
}

/** A mistake in the place of the call that is due; `null` where none comes to mind. */
function slipInstead(due: Move, request: Request, seen: Seen, rng: Rng): Move | null {
  const options = mistakes(due, seen, rng).filter((move): move is Move => move !== null);
  const wants = (intent: string) =>
    request.goals.some((goal) => goal.kind === 'do' && goal.intent === intent);
  const ticket = (due.args.ticket as string | undefined) ?? seen.any(TICKET_ID, rng);
  if (ticket && wants('send_mail') && /^get_/.test(due.tool)) {
    // Writes at once, to an address that seems right.
    options.push({ tool: 'send_mail', args: { to: rng.pick(ADDRESSES), ticket } });
  }
  if (ticket && wants('mark_reminded') && due.tool === 'send_mail') {
    options.push({ tool: 'mark_reminded', args: { ticket } });
  }
  return options.length > 0 ? rng.pick(options) : null;
}

function mistakes({ tool, args }: Move, seen: Seen, rng: Rng): (Move | null)[] {
  const swap = (name: string, value: Json | null): Move | null =>
    value === null ? null : { tool, args: { ...args, [name]: value } };
  const mistyped = swap('ticket', rng.pick(TICKETS));
  switch (tool) {
    case 'list_tickets':
      return [
        { tool, args: {} },
        { tool, args: { status: 'P1' } },
        { tool, args: { priority: 'open' } },
      ];
    case 'list_outbox':
      return [{ tool, args: {} }, mistyped];
    case 'get_ticket':
      return [mistyped, swap('ticket', seen.any(PERSON_ID, rng))];
    case 'get_person':
      return [
        swap('person', seen.any(ADDRESS, rng)),
        { tool: 'find_person', args: { email: rng.pick(ADDRESSES) } },
      ];
    case 'find_person':
      return [
        { tool: 'get_person', args: { person: args.email as Json } },
        swap('email', rng.pick(ADDRESSES)),
      ];
    case 'send_mail':
      return [
        swap('to', rng.pick(ADDRESSES)),
        swap('to', seen.any(PERSON_ID, rng)),
        swap('to', seen.any(ADDRESS, rng, args.to)),
      ];
    case 'close_ticket':
      return [mistyped, { tool: 'reopen_ticket', args }];
    case 'assign_ticket':
      return [mistyped, swap('person', seen.any(ADDRESS, rng))];
    default:
      return [mistyped];
  }
}
