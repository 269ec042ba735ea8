import { type ParseArgsConfig, parseArgs } from 'node:util';
import { nearestWord } from '../lab/words.ts';

/** Wrong usage: exit status 2, with the nearest right call. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Option {
  name: string;
  /** Placeholder of its value; absent for a switch. */
  value?: string;
  repeatable?: boolean;
  help: string;
}

/** What a command takes, for parsing and for `--help`. */
export interface Usage {
  name: string;
  /** How the words after the name are called, as `FILES…`; empty for none. */
  operands: string;
  /** Least and most operands. */
  count: [number, number];
  summary: string;
  options: Option[];
}

export interface Parsed {
  operands: string[];
  /** Values of an option in order; a switch that is set has one empty value. */
  all(name: string): string[];
  /** The last value of an option. */
  get(name: string): string | undefined;
  has(name: string): boolean;
}

export const COMMON: Option[] = [
  { name: 'json', help: 'end standard output with one line holding one JSON object' },
  { name: 'help', help: 'show this' },
];

/** Reads the words after a command's name. @throws UsageError with the nearest right option. */
export function parse(usage: Usage, words: string[]): Parsed {
  const known = [...usage.options, ...COMMON];
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const option of known)
    options[option.name] = { type: option.value ? 'string' : 'boolean', multiple: true };
  for (const word of words) {
    const name = /^--([^=]+)/.exec(word)?.[1];
    if (name !== undefined && !options[name])
      throw new UsageError(
        `${usage.name} has no option --${name}. ${suggest(name, Object.keys(options), '--')}`,
      );
  }
  const { values, positionals } = readWords(usage, words, options);
  const [least, most] = usage.count;
  if (values.help === undefined && (positionals.length < least || positionals.length > most))
    throw new UsageError(
      `${usage.name} takes ${usage.operands || 'no operands'}, got ${positionals.length ? positionals.join(' ') : 'none'}. Usage: ${line(usage)}`,
    );
  const all = (name: string): string[] => {
    const value = values[name];
    if (value === undefined) return [];
    return (Array.isArray(value) ? value : [value]).map((one) => (typeof one === 'string' ? one : ''));
  };
  return {
    operands: positionals,
    all,
    get: (name) => all(name).at(-1),
    has: (name) => values[name] !== undefined,
  };
}

function readWords(usage: Usage, words: string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true, strict: true });
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${what} Usage: ${line(usage)}`);
  }
}

/** "Did you mean --seeds?" or the list of what there is. */
export function suggest(word: string, known: readonly string[], prefix = ''): string {
  const near = nearestWord(word, known);
  if (near) return `Did you mean ${prefix}${near}?`;
  return `There is: ${known.map((name) => prefix + name).join(', ')}.`;
}

const form = (option: Option) =>
  `--${option.name}${option.value ? ` ${option.value}` : ''}${option.repeatable ? ' …' : ''}`;

/** The usage of a command in one line. */
export function line(usage: Usage): string {
  const options = usage.options.map((option) => `[${form(option)}]`);
  return ['npm run lab --', usage.name, usage.operands, ...options, '[--json]'].filter(Boolean).join(' ');
}

/** The help text of a command. */
export function help(usage: Usage): string {
  const options = [...usage.options, ...COMMON];
  const width = Math.max(...options.map((option) => form(option).length));
  return [
    line(usage),
    '',
    usage.summary,
    '',
    ...options.map((option) => `  ${form(option).padEnd(width)}  ${option.help}`),
  ].join('\n');
}
