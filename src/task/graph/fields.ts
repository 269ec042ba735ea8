import { IRREVERSIBLE_VERBS, READ_VERBS, WRITE_VERBS } from '../../trace/effect.ts';

/** What the name of a field says about its value. */
export interface Field {
  /** Lower-case words joined: `userId` and `user_id` are one name. */
  name: string;
  /** Names one object: `id`, `order_id`, `path`, `url`, `email`. */
  identifier: boolean;
  /** Kind of object: `order` for `order_id`; empty for a bare `id`. */
  stem: string;
  /** Says how much to return or how long to wait, never which object. */
  paging: boolean;
}

const GENERIC = new Set(['id', 'uuid', 'guid', 'identifier', 'key', 'slug', 'ref']);
const FILES = new Set([
  'path',
  'file',
  'filename',
  'filepath',
  'uri',
  'url',
  'href',
  'directory',
  'dir',
  'folder',
]);
const OWN = new Set(['email', 'username', 'sha', 'isbn', 'iban', 'handle']);
const SECRET = new Set([
  'api',
  'access',
  'secret',
  'session',
  'auth',
  'public',
  'private',
  'primary',
  'sort',
  'order',
]);
const PAGING = new Set(
  'limit page size count offset top topk k n max min maximum minimum timeout ttl depth width height seconds minutes ms start end skip take per batch retries interval delay temperature'.split(
    ' ',
  ),
);
/** Words of a tool's name that say nothing of what it works on, wherever they stand. */
const VERBS = new Set(
  'get set find create add update modify delete remove cancel ship resolve approve claim lookup search list show do my by with to from for of in on and the a an all details info information'.split(
    ' ',
  ),
);

/** Splits a name at case changes and at everything that is no letter or digit; lower case. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** The word in the singular, for plain English plurals. */
export function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith('s') && !/(ss|us|is|as)$/.test(word)) return word.slice(0, -1);
  return word;
}

/**
 * Words of a tool's own name that are no verbs, singular: `server/update_order_items` → `order`, `item`. Words that are
 * verbs and nouns (`order`, `book`, `post`) are verbs at the start only.
 */
export function nounsOf(tool: string): string[] {
  const own = tool.slice(tool.lastIndexOf('/') + 1);
  return wordsOf(own)
    .filter((word, i) => !VERBS.has(word) && !(i === 0 && isEffectVerb(word)))
    .map(singular);
}

function isEffectVerb(word: string): boolean {
  return READ_VERBS.has(word) || WRITE_VERBS.has(word) || IRREVERSIBLE_VERBS.has(word);
}

const known = new Map<string, Field>();

/** Reads a field's name. Remembered by name. */
export function fieldOf(name: string): Field {
  const held = known.get(name);
  if (held) return held;
  const field = readField(name);
  if (known.size < 200_000) known.set(name, field);
  return field;
}

function readField(name: string): Field {
  const words = wordsOf(name).map(singular);
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const joined = words.join('_');
  const paging = words.some((word) => PAGING.has(word)) && !GENERIC.has(last);
  if (FILES.has(last) || joined === 'file_name')
    return { name: joined, identifier: true, stem: 'file', paging: false };
  if (OWN.has(last) || joined === 'user_name')
    return { name: joined, identifier: true, stem: last, paging: false };
  if (GENERIC.has(last) && !(last === 'key' && before.some((word) => SECRET.has(word)))) {
    return { name: joined, identifier: true, stem: before.join('_'), paging: false };
  }
  if (last === 'number' && before.length > 0 && !paging) {
    return { name: joined, identifier: true, stem: before.join('_'), paging: false };
  }
  return { name: joined, identifier: false, stem: joined, paging };
}

/** True for a value that two kinds of object are unlikely to share: long, with a digit or a separator. */
export function isDistinctive(value: string | number): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) >= 100_000;
  return value.length >= 6 && /[\d/@._:#-]/.test(value) && !/\s/.test(value);
}

/** True for a scalar that can name an object: a whole number, or text without white space. */
export function canName(value: string | number): boolean {
  return typeof value === 'number' ? Number.isInteger(value) : value !== '' && !/\s/.test(value);
}

const CONSTANTS = new Set(
  'true false null none undefined nan default auto asc desc ascending descending json text html plain xml csv utf-8 utf8 main master head latest today yes no ok okay success error failed failure done name title email message content value data string number integer boolean object array unknown n/a all any'.split(
    ' ',
  ),
);

/** True for text that is a constant of every interface, and so shows nothing. */
export function isConstantText(value: string): boolean {
  return value.length <= 10 && CONSTANTS.has(value.toLowerCase());
}

/** True for the numbers people pick for sizes and times: 1, 2 or 5 (or 25) times a power of ten, powers of two, years. */
export function isRoundNumber(value: number): boolean {
  if (!Number.isInteger(value)) return false;
  let rest = Math.abs(value);
  if (rest >= 1900 && rest <= 2100) return true;
  if (Number.isInteger(Math.log2(rest))) return true;
  while (rest >= 10 && rest % 10 === 0) rest /= 10;
  return rest === 1 || rest === 2 || rest === 5 || rest === 25;
}
