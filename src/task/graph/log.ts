import type { EdgeKind } from '../model.ts';

export const KINDS: readonly EdgeKind[] = ['data', 'state', 'retry'];

/** One piece of evidence that a pair of calls shows an edge. */
export interface Evidence {
  /** Number of the pair; the evidence of one pair stands together, the strongest of a kind first. */
  pair: number;
  trajectory: number;
  /** Indices of the two calls among the trajectory's non-meta calls. */
  from: number;
  to: number;
  /** Fine nodes. */
  start: number;
  end: number;
  /** Index into `KINDS`. */
  kind: number;
  /** Interned (source pattern, target pattern, slot); −1 for a retry. */
  binding: number;
  /** Interned paths. */
  source: number;
  target: number;
  /** Slot of the later call's argument; −1 for a retry. */
  slot: number;
  /** 1 where it counts only if the value is an identifier somewhere in the corpus. */
  ifIdentifier: number;
  /** Interned text: counts unless this is an identifier somewhere in the corpus; −1 for none. */
  unless: number;
}

const FIELDS = [
  'pair',
  'trajectory',
  'from',
  'to',
  'start',
  'end',
  'kind',
  'binding',
  'source',
  'target',
  'slot',
  'ifIdentifier',
  'unless',
] as const satisfies readonly (keyof Evidence)[];
const STRIDE = FIELDS.length;

/** Rows of one chunk: small, so that a small graph costs little; a chunk is never copied. */
const ROWS = 8192;
const BINDING = FIELDS.indexOf('binding');

interface Chunk {
  cells: Int32Array;
  hashes: Float64Array;
}

/** Evidence in the order of its arrival, in columns: 60 bytes each and the value's text. */
export class EvidenceLog {
  count = 0;
  readonly #values: string[] = [];
  readonly #chunks: Chunk[] = [];

  add(evidence: Evidence, hash: number, value: string): void {
    const row = this.count % ROWS;
    if (row === 0) {
      this.#chunks.push({ cells: new Int32Array(STRIDE * ROWS), hashes: new Float64Array(ROWS) });
    }
    const { cells, hashes } = this.#chunk(this.count);
    for (let i = 0; i < STRIDE; i++) cells[row * STRIDE + i] = evidence[FIELDS[i] as keyof Evidence];
    hashes[row] = hash;
    this.#values.push(value);
    this.count++;
  }

  /** Writes evidence `at` into `into`. */
  read(at: number, into: Evidence): Evidence {
    const { cells } = this.#chunk(at);
    const start = (at % ROWS) * STRIDE;
    for (let i = 0; i < STRIDE; i++) into[FIELDS[i] as keyof Evidence] = cells[start + i] as number;
    return into;
  }

  /** Hash of the value that flowed; NaN for a retry. */
  hash(at: number): number {
    return this.#chunk(at).hashes[at % ROWS] as number;
  }

  /** The value that flowed, cut to what a witness keeps. */
  value(at: number): string {
    return this.#values[at] as string;
  }

  /** Interned binding of evidence `at`. */
  binding(at: number): number {
    return this.#chunk(at).cells[(at % ROWS) * STRIDE + BINDING] as number;
  }

  #chunk(at: number): Chunk {
    return this.#chunks[Math.floor(at / ROWS)] as Chunk;
  }
}

/** An evidence record to be filled by `EvidenceLog.read`. */
export function blankEvidence(): Evidence {
  return {
    pair: 0,
    trajectory: 0,
    from: 0,
    to: 0,
    start: 0,
    end: 0,
    kind: 0,
    binding: -1,
    source: 0,
    target: 0,
    slot: -1,
    ifIdentifier: 0,
    unless: -1,
  };
}

/** Texts by number, each held once. */
export class Interner {
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.texts.length;
      this.texts.push(text);
      this.#numbers.set(text, number);
    }
    return number;
  }
}
