/**
 * The closed pools from which every seed draws its identifiers. E-mail addresses have nothing to do with the names
 * of people: only reading tells who has which. Each name is one token of the desk's language.
 */
export const TICKETS: readonly string[] = [
  ...['T-1038', 'T-1174', 'T-1296', 'T-1459', 'T-1683', 'T-1820', 'T-1947', 'T-2065'],
  ...['T-2213', 'T-2378', 'T-2541', 'T-2709', 'T-2866', 'T-3024', 'T-3190', 'T-3357'],
  ...['T-3482', 'T-3615', 'T-3798', 'T-3946', 'T-4103', 'T-4289', 'T-4471', 'T-4630'],
  ...['T-4752', 'T-4918', 'T-5087', 'T-5236', 'T-5394', 'T-5561', 'T-5727', 'T-5893'],
];

export const PEOPLE: readonly string[] = [
  ...['a.moreau', 'b.hansen', 'c.ibarra', 'd.kowalski', 'e.nakamura', 'f.rossi', 'g.tanaka', 'h.lindgren'],
  ...['i.petrov', 'j.mensah', 'k.schmidt', 'l.costa', 'm.novak', 'n.farouk', 's.iyer', 'u.okafor'],
];

export const ADDRESSES: readonly string[] = [
  ...['alder', 'amber', 'aspen', 'basalt', 'birch', 'cedar', 'cobalt', 'copper'],
  ...['coral', 'delta', 'fjord', 'garnet', 'harbour', 'hazel', 'heron', 'indigo'],
  ...['juniper', 'kestrel', 'lagoon', 'linden', 'maple', 'marble', 'meadow', 'nickel'],
  ...['onyx', 'otter', 'pebble', 'quartz', 'raven', 'saffron', 'thistle', 'willow'],
].map((name) => `${name}@mail.example`);

export const PRIORITIES = ['P1', 'P2', 'P3'] as const;
export const STATUSES = ['open', 'closed'] as const;

/** Age of a ticket in days; "older than 7 days" is in the middle. */
export const AGES: readonly number[] = [2, 5, 7, 8, 12, 20];

/** Hours on the clock when the desk opens. */
export const OPENING = 1000;

/** When earlier reminders were sent, in hours: the first two over 24 hours ago, the others since. */
export const EARLIER: readonly number[] = [904, 952, 979, 991];

/** A ticket is overdue from this age on, days; a reminder counts for this long, hours. */
export const OVERDUE_DAYS = 7;
export const REMINDER_HOURS = 24;
