import type { JsonObject } from '../../base/json.ts';
import { OVERDUE_DAYS, REMINDER_HOURS } from './names.ts';

/** True where a ticket's owner is to be reminded: open, P1, older than 7 days, no reminder in the last 24 hours. */
export function isDue(ticket: JsonObject, now: number): boolean {
  const { status, priority, age, reminded_at: last } = ticket;
  return (
    status === 'open' &&
    priority === 'P1' &&
    (age as number) > OVERDUE_DAYS &&
    mayRemind(last as number | null, now)
  );
}

/** True where nobody was reminded in the last 24 hours. */
export function mayRemind(last: number | null, now: number): boolean {
  return last === null || now - last >= REMINDER_HOURS;
}
