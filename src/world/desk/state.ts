import type { JsonObject } from '../../base/json.ts';

/** Table names of the desk. */
export const TICKET = 'ticket';
export const PERSON = 'person';
export const MAIL = 'mail';

export type Priority = 'P1' | 'P2' | 'P3';
export type Status = 'open' | 'closed';

export interface Ticket extends JsonObject {
  id: string;
  priority: Priority;
  status: Status;
  /** Days since it was opened. */
  age: number;
  /** Id of a person. */
  owner: string;
  /** Hours on the clock when the owner was last reminded, or `null`. */
  reminded_at: number | null;
}

export interface Person extends JsonObject {
  id: string;
  email: string;
  /** Id of a person; `null` for the head of the desk. */
  manager: string | null;
}

/** A mail that was sent. Its id is made of its content, so the order of sending leaves no trace in the state. */
export interface Mail extends JsonObject {
  id: string;
  to: string;
  /** Id of the ticket it is about. */
  ticket: string;
  /** Hours on the clock. */
  sent_at: number;
}

/** A mail as it is kept. */
export function mailOf(to: string, ticket: string, sentAt: number): Mail {
  return { id: `${ticket}/${to}/${sentAt}`, to, ticket, sent_at: sentAt };
}
