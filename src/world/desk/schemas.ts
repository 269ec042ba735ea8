import type { Json, JsonObject } from '../../base/json.ts';
import { PRIORITIES, STATUSES } from './names.ts';

/** Schemas of the desk's values. The descriptions appear in the errors that name an argument. */
export const schema = {
  ticket: { type: 'string', pattern: '^T-[0-9]{4}$', description: 'id of a ticket, such as T-4471' },
  person: { type: 'string', pattern: '^[a-z]\\.[a-z]+$', description: 'id of a person, such as u.okafor' },
  nobodyOrPerson: { type: ['string', 'null'], description: 'id of a person; null for the head of the desk' },
  email: { type: 'string', pattern: '^[a-z]+@mail\\.example$', description: 'an e-mail address' },
  priority: { type: 'string', enum: [...PRIORITIES], description: 'P1 is the most urgent' },
  status: { type: 'string', enum: [...STATUSES], description: 'open or closed' },
  age: { type: 'integer', minimum: 0, description: 'days since the ticket was opened' },
  time: { type: 'number', description: 'hours on the clock of the desk' },
  pastTime: { type: ['number', 'null'], description: 'hours on the clock of the desk; null for never' },
} satisfies Record<string, JsonObject>;

/** An object with these fields and no others; all of them required unless said otherwise. */
export function closed(properties: Record<string, Json>, required = Object.keys(properties)): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A list of such objects. */
export function list(properties: Record<string, Json>): JsonObject {
  return { type: 'array', items: closed(properties) };
}
