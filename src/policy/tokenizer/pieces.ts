/** A generation holds this many pre-tokens. */
const GENERATION = 1 << 15;
/** V8 keeps the whole text alive for a slice of this length or more; longer than the second it isn't worth a copy. */
const SLICE = 13;
const LONG = 4096;

/**
 * Encodings of pre-tokens seen lately, at most 2 · 2^15 of them: two generations, of which the older one is dropped when the
 * younger one is full; what is asked for again moves into the younger one. What it holds changes the time, never a result.
 */
export class PieceCache {
  #young = new Map<string, readonly number[]>();
  #old = new Map<string, readonly number[]>();

  get(piece: string): readonly number[] | undefined {
    const kept = this.#young.get(piece);
    if (kept) return kept;
    const older = this.#old.get(piece);
    if (older) this.#keep(piece, older);
    return older;
  }

  set(piece: string, ids: readonly number[]): void {
    this.#keep(piece, ids);
  }

  #keep(piece: string, ids: readonly number[]): void {
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(copyOf(piece), ids);
  }
}

/** The same string, lone surrogates included, with storage of its own where it may be a slice of a long text. */
export function copyOf(text: string): string {
  if (text.length < SLICE || text.length > LONG) return text;
  return String.fromCharCode(...Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
}
