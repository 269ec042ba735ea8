/** A change of a kernel's text that cannot be seen from outside, and why. */
export interface Equivalent {
  file: string;
  /** The line after the change, without indentation. */
  text: string;
  why: string;
}

const LONGER =
  'a longer run than needed: the first threads take more rows and the last ones none, in the same order';

export const EQUIVALENT: readonly Equivalent[] = [
  { file: 'compact', text: 'let run = (n + (LANES + 1) - 1) / LANES;', why: LONGER },
  { file: 'compact', text: 'let run = (n + LANES + 1) / LANES;', why: LONGER },
  { file: 'compact', text: 'let run = (n + LANES - 1) * LANES;', why: LONGER },
  {
    file: 'compact',
    text: 'let end = min(n, begin - run);',
    why: '0 − run wraps, so that the first thread takes all rows and the others none, in the same order',
  },
  {
    file: 'step_summary',
    text: 'if (norm >= step.clip) { scale = step.clip / norm; }',
    why: 'where both are equal the quotient is exactly 1',
  },
];
