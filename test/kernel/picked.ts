/** Mutants that the daily tests try, at least one of every kernel: file, what stands there once, what is put there. */
export const PICKED: readonly (readonly [file: string, from: string, to: string])[] = [
  ['rms_norm', '1e-6', '1.01e-6'],
];
