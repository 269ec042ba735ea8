import { LabError } from '../../base/errors.ts';
import { quoted } from '../words.ts';

/** The fields of a link, in order: names and values as plain text, no name twice. */
export type Fields = [name: string, value: string][];

const FORBIDDEN = /(^|\.)(__proto__|constructor|prototype)($|\.)/;

/** Fields as `a=1&b=2`. Letters, digits and `-_.~,*!'()` stay as they are, everything else is percent-encoded. */
export function writeFields(fields: Fields): string {
  return fields.map(([name, value]) => `${escapeField(name)}=${escapeField(value)}`).join('&');
}

/**
 * Reads `writeFields`; `+` in a value stays `+`.
 * @throws LabError on a field without a name or value, a repeated or forbidden name, or a broken percent escape.
 */
export function readFields(text: string): Fields {
  if (text === '') return [];
  const seen = new Set<string>();
  return text.split('&').map((part) => {
    const at = part.indexOf('=');
    if (at < 1 || at === part.length - 1) {
      throw new LabError(`${quoted(part)} is no field of a link`, { where: 'link', remedy: CUT });
    }
    const name = unescapeField(part.slice(0, at));
    if (FORBIDDEN.test(name)) {
      throw new LabError(`${quoted(name)} is not allowed in a link`, { where: 'link', remedy: 'Remove it.' });
    }
    if (seen.has(name)) {
      throw new LabError(`${quoted(name)} stands twice in the link`, {
        where: 'link',
        remedy: 'Keep one of the two.',
      });
    }
    seen.add(name);
    return [name, unescapeField(part.slice(at + 1))];
  });
}

/** What to do about a link that seems incomplete. */
export const CUT = 'The link may have been cut off: copy it again in full, or ask for a new one.';

function escapeField(text: string): string {
  return encodeURIComponent(text).replaceAll('%2C', ',');
}

function unescapeField(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new LabError(`${quoted(text)} holds a broken percent escape`, {
      where: 'link',
      remedy: CUT,
      cause,
    });
  }
}
