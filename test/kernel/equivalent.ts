/** A change of a kernel's text that cannot be seen from outside, and why. */
export interface Equivalent {
  file: string;
  /** The line after the change, without indentation. */
  text: string;
  why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [];
