import type { Place } from './model.ts';

/** `line 214, message.content[0]`; empty for a whole file. */
export function describePlace(place: Place): string {
  const parts: string[] = [];
  if (place.line !== undefined) parts.push(`line ${place.line}`);
  if (place.field) parts.push(place.field);
  return parts.join(', ');
}

/** The place of a field inside a record: `simulations[3]` and `messages[2]` give `simulations[3].messages[2]`. */
export function inside(place: Place, field: string): Place {
  if (field === '') return place;
  const outer = place.field ?? '';
  const joint = outer === '' || field.startsWith('[') ? '' : '.';
  return { ...place, field: `${outer}${joint}${field}` };
}
