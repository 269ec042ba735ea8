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

/** Evidence in the order of its arrival, in columns: 60 bytes each and the value's text. */
export class EvidenceLog {
  count = 0;
  readonly values: string[] = [];
  #cells = new Int32Array(STRIDE * 256);
  #hashes = new Float64Array(256);

  add(evidence: Evidence, hash: number, value: string): void {
    const at = this.count++;
    if (at === this.#hashes.length) this.#grow();
    for (let i = 0; i < STRIDE; i++) {
      this.#cells[at * STRIDE + i] = evidence[FIELDS[i] as keyof Evidence];
    }
    this.#hashes[at] = hash;
    this.values.push(value);
  }

  /** Writes evidence `at` into `into`. */
  read(at: number, into: Evidence): Evidence {
    for (let i = 0; i < STRIDE; i++) {
      into[FIELDS[i] as keyof Evidence] = this.#cells[at * STRIDE + i] as number;
    }
    return into;
  }

  /** Hash of the value that flowed; NaN for a retry. */
  hash(at: number): number {
    return this.#hashes[at] as number;
  }

  /** Interned binding of evidence `at`. */
  binding(at: number): number {
    return this.#cells[at * STRIDE + FIELDS.indexOf('binding')] as number;
  }

  #grow(): void {
    const cells = new Int32Array(this.#cells.length * 2);
    cells.set(this.#cells);
    this.#cells = cells;
    const hashes = new Float64Array(this.#hashes.length * 2);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
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
