import type { Json } from '../../base/json.ts';
import type { FileAccount } from '../builder.ts';
import type { Place, Rejection, Trajectory } from '../model.ts';

/** A record of a file: a line of JSONL, an element of a JSON array, or a whole JSON document. */
export interface Entry {
  value: Json;
  place: Place;
}

export type Found =
  | { type: 'trajectory'; trajectory: Trajectory }
  | { type: 'rejected'; rejection: Rejection };

/** Reads the records of one file, in order. Has state where a trajectory spans records. */
export interface Reader {
  push(entry: Entry): Iterable<Found>;
  /** What is still open when the file ends. */
  end(): Iterable<Found>;
}

/** A format in which people keep traces. One file of `src/trace/formats/` each. */
export interface Format {
  id: string;
  title: string;
  /** True where the first records of a file (up to 64) are of this format. Must be false for every other format's. */
  detect(records: readonly Json[]): boolean;
  open(path: string): Reader;
}

/** A reader for formats where each record stands alone. */
export function recordReader(account: FileAccount, read: (entry: Entry) => Iterable<Found>): Reader {
  return { push: read, end: () => account.problems() };
}
