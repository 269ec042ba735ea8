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

/** A group that is open while the pattern is read. */
interface Group {
  /** It holds an alternative or a part of varying length, so that it can match one text in more than one way. */
  varies: boolean;
}

/**
 * Refuses what backtracking may need exponential time for: a repetition without end (or past 16) of a group that itself
 * repeats or has alternatives, as in `(a+)+` or `(a|ab)*`. What passes takes at most polynomial time in the length of
 * the text it is given, and `splitBlocks` bounds that length. Also refused: what the translation would change in
 * meaning (atomic groups, possessive repetition, `\G`), and references back.
 * @throws LabError with the place in the pattern.
 */
export function checkPattern(source: string, where: string): void {
  if (source.length > LONGEST_PATTERN)
    refuse(`the pattern has ${source.length} characters, more than ${LONGEST_PATTERN}`, where, REMEDY);
  const deny = (what: string, at: number): never =>
    refuse(`${what}, at character ${at} of the pattern ${show(source.slice(at))}`, where, REMEDY);
  const open: Group[] = [{ varies: false }];
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
      open.push({ varies: false });
      i += /^\((?:\?(?:<?[=!]|[a-z-]*:|<\w+>)?)?/.exec(source.slice(i, i + 40))![0].length;
      last = null;
    } else if (char === ')') {
      if (open.length === 1) deny('a group is closed that was not opened', i);
      last = open.pop()!.varies;
      if (last) open.at(-1)!.varies = true;
      i++;
    } else if (char === '|') {
      open.at(-1)!.varies = true;
      last = null;
      i++;
    } else {
      const repeated = /^(?:[*+?]|\{(\d*)(,?)(\d*)\})/.exec(source.slice(i, i + 24));
      if (!repeated || repeated[0] === '{,}' || repeated[0] === '{}' || last === null) {
        last = false;
        i++;
        continue;
      }
      const [text, least = '', comma, most = ''] = repeated;
      const fixed = text.startsWith('{') && (comma === '' || least === most);
      const highest =
        text === '?' ? 1 : text.startsWith('{') ? Number((comma ? most : least) || Infinity) : Infinity;
      if (last && highest > 16) deny('a repetition of what itself varies can take exponential time', i);
      i += text.length;
      if (source[i] === '+') deny('a possessive or doubled repetition', i);
      if (source[i] === '?') i++;
      if (!fixed) open.at(-1)!.varies = true;
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
