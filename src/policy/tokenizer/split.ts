import { compilePattern } from './pattern.ts';
import { refuse, show } from './refuse.ts';

/** One step of a pre-tokenizer. What the pattern matches becomes pieces of their own. */
export interface SplitStep {
  /** An Oniguruma expression. */
  pattern: string;
  /** True where the file says that text outside the matches is thrown away. Such text is refused, since it would be lost. */
  onlyMatches: boolean;
}

/** Pieces are looked for in blocks of about this many UTF-16 units; a block never ends inside a word. */
const BLOCK = 1 << 16;
const LONGEST_BLOCK = 1 << 17;
/** A letter before one of these is a place where every pattern in use ends a piece. */
const BOUNDARY = /\p{L}(?=[ 、。，])/gu;

/** Cuts text into the pre-tokens that merges stay inside of. */
export type Splitter = (text: string) => string[];

/**
 * @param steps applied one after another, each to the pieces of the one before; none = the text is one piece.
 * @throws LabError on a pattern that can't be used.
 */
export function createSplitter(steps: readonly SplitStep[], where: string): Splitter {
  const compiled = steps.map(({ pattern, onlyMatches }, i) => ({
    pattern: compilePattern(pattern, `${where}, step ${i + 1}`),
    onlyMatches,
  }));
  return (text) => {
    let pieces = compiled.length === 0 ? [text] : splitBlocks(text);
    for (const { pattern, onlyMatches } of compiled)
      pieces =
        pieces.length === 1
          ? splitOnce(pieces[0]!, pattern, onlyMatches)
          : pieces.flatMap((piece) => splitOnce(piece, pattern, onlyMatches));
    return pieces;
  };
}

/**
 * Bounds the time of a pattern: it is never given more than 2^17 UTF-16 units at once. Text is cut after 2^16 units, at the
 * next letter that stands before a space or a CJK comma or stop (no pattern in use has a piece across it); only where
 * there is none for another 2^16 units it is cut where it stands, between characters. A pattern that passes
 * `checkPattern` takes time in proportion to the text if it is one of those in use; at worst, that of a power of the block.
 */
export function splitBlocks(text: string): string[] {
  if (text.length <= BLOCK) return [text];
  const blocks: string[] = [];
  for (let at = 0; at < text.length; ) {
    BOUNDARY.lastIndex = at + BLOCK;
    const found = at + BLOCK < text.length && BOUNDARY.exec(text) ? BOUNDARY.lastIndex : text.length;
    let end = Math.min(found, at + LONGEST_BLOCK);
    if (
      end < text.length &&
      isLowSurrogate(text.charCodeAt(end)) &&
      isHighSurrogate(text.charCodeAt(end - 1))
    )
      end--;
    blocks.push(text.slice(at, end));
    at = end;
  }
  return blocks;
}

const isHighSurrogate = (unit: number) => (unit & 0xfc00) === 0xd800;
const isLowSurrogate = (unit: number) => (unit & 0xfc00) === 0xdc00;

/** The matches and what lies between them, in order; nothing empty. */
function splitOnce(text: string, pattern: RegExp, onlyMatches: boolean): string[] {
  const matches: string[] = text.match(pattern) ?? [];
  let covered = 0;
  let empty = false;
  for (const match of matches) {
    covered += match.length;
    empty ||= match.length === 0;
  }
  if (covered === text.length) return empty ? matches.filter((match) => match.length > 0) : matches;
  const pieces: string[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0].length === 0) continue;
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push(match[0]);
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push(text.slice(at));
  if (onlyMatches) {
    const lost = pieces.find((piece) => !matches.includes(piece)) ?? '';
    refuse(
      `the tokenizer has no place for ${show(lost)} and would drop it`,
      'text',
      'take it out of the text, or use a tokenizer whose pattern covers it',
    );
  }
  return pieces;
}
