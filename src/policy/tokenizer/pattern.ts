import { SplitPreTokenizer } from '@huggingface/tokenizers';
import { LabError } from '../../base/errors.ts';
import { refuse, show } from './refuse.ts';

const LONGEST_PATTERN = 20_000;
const REMEDY = 'load a tokenizer whose pre-tokenizer is one of those of GPT-2, Llama 3, Qwen 2 or their like';

/**
 * Compiles the pattern of a pre-tokenizer, written for Oniguruma, to a JavaScript expression with the flags `gu`. The
 * translation (`\s` and `\p{Han}` as Unicode means them, `(?i:…)`, `[a&&b]`, `\h`) is that of `@huggingface/tokenizers`.
 * Patterns come from files, so those that could take exponential time are refused: see `checkPattern`.
 * @throws LabError on a pattern that JavaScript can't express, or that `checkPattern` refuses.
 */
export function compilePattern(source: string, where: string): RegExp {
  checkPattern(source, where);
  let pattern: RegExp | null;
  try {
    pattern = new SplitPreTokenizer({
      type: 'Split',
      pattern: { Regex: source },
      behavior: 'Isolated',
      invert: false,
    }).pattern;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LabError(`JavaScript can't express the pattern ${show(source)}: ${why}`, {
      where,
      remedy: REMEDY,
      cause,
    });
  }
  return pattern ?? refuse(`${show(source)} is no pattern`, where, REMEDY);
}

/** Most parts of varying length, or choices, that may follow one another. Patterns in use have at most five. */
const MOST_CHOICES = 8;

/** A group that is open while the pattern is read. */
interface Group {
  /** Choices one after another in the alternative that is being read, and the most of those before it. */
  choices: number;
  most: number;
  alternatives: boolean;
}

const newGroup = (): Group => ({ choices: 0, most: 0, alternatives: false });

/**
 * Refuses what backtracking may need exponential time for: repeating a group that itself repeats or has alternatives, as
 * in `(a+)+` or `(a|ab)*` (it may only be left out, as in `(a|ab)?`), and more than 8 choices in a row, as in
 * `a?a?a?…`. What passes takes at most polynomial time in the length of the text it is given, and `splitBlocks` bounds that
 * length. Also refused: what the translation would change in meaning (atomic groups, possessive repetition, `\G`),
 * and references back.
 * @throws LabError with the place in the pattern.
 */
export function checkPattern(source: string, where: string): void {
  if (source.length > LONGEST_PATTERN)
    refuse(`the pattern has ${source.length} characters, more than ${LONGEST_PATTERN}`, where, REMEDY);
  const deny = (what: string, at: number): never =>
    refuse(`${what}, at character ${at} of the pattern ${show(source.slice(at))}`, where, REMEDY);
  const open: Group[] = [newGroup()];
  const choose = (count: number, at: number) => {
    const group = open.at(-1)!;
    group.choices += count;
    if (group.choices > MOST_CHOICES) deny(`more than ${MOST_CHOICES} choices in a row`, at);
  };
  /** Whether the last atom varies; null where there is nothing to repeat. */
  let last: boolean | null = null;
  for (let i = 0; i < source.length; ) {
    const char = source[i]!;
    if (char === '\\') {
      const escaped = source[i + 1] ?? '';
      if (/[1-9kg]/.test(escaped)) deny('a reference back to a group', i);
      if (/[GKRXO]/.test(escaped)) deny(`\\${escaped}, which JavaScript has not`, i);
      i = endOfEscape(source, i);
      last = false;
    } else if (char === '[') {
      i = endOfClass(source, i);
      last = false;
    } else if (char === '(') {
      if (source.startsWith('(?>', i)) deny('an atomic group, which JavaScript has not', i);
      open.push(newGroup());
      i += /^\((?:\?(?:<?[=!]|[a-z-]*:|<\w+>)?)?/.exec(source.slice(i, i + 40))![0].length;
      last = null;
    } else if (char === ')') {
      if (open.length === 1) deny('a group is closed that was not opened', i);
      const { choices, most, alternatives } = open.pop()!;
      const inside = Math.max(choices, most) + Number(alternatives);
      choose(inside, i);
      last = inside > 0;
      i++;
    } else if (char === '|') {
      const group = open.at(-1)!;
      group.most = Math.max(group.most, group.choices);
      group.choices = 0;
      group.alternatives = true;
      last = null;
      i++;
    } else {
      const repeated = /^(?:[*+?]|\{(?:(\d+)|(\d*),(\d*))\})/.exec(source.slice(i, i + 24));
      if (!repeated || repeated[0] === '{,}' || last === null) {
        last = false;
        i++;
        continue;
      }
      const [text, times, least, most] = repeated;
      const fixed = times !== undefined || (text !== '{,}' && least !== undefined && least === most);
      if (last && text !== '?' && Number(times ?? (most || Infinity)) > 1)
        deny('a repetition of what itself varies can take exponential time', i);
      i += text.length;
      if (source[i] === '+') deny('a possessive or doubled repetition', i);
      if (source[i] === '?') i++;
      if (!fixed) choose(1, i);
      last = last || !fixed;
    }
  }
}

function endOfEscape(source: string, at: number): number {
  const braced = /^\\[pPxu]\{[^}]*\}/.exec(source.slice(at, at + 80));
  return at + (braced ? braced[0].length : 2);
}

/** After the bracket that closes the class; classes nest. */
function endOfClass(source: string, at: number): number {
  let depth = 0;
  for (let i = at; i < source.length; i++) {
    if (source[i] === '\\') i++;
    else if (source[i] === '[') {
      depth++;
      if (source[i + 1] === '^') i++;
      if (source[i + 1] === ']') i++;
    } else if (source[i] === ']' && --depth === 0) return i + 1;
  }
  return source.length;
}
