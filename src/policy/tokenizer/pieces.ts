/** A generation holds this many pre-tokens. */
const GENERATION = 1 << 15;
/** V8 keeps the whole text alive for a slice of this length or more. */
const SLICE = 13;

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
    this.#young.set(piece.length < SLICE ? piece : copyOf(piece), ids);
  }
}

/** The same string with storage of its own, lone surrogates included. */
function copyOf(text: string): string {
  return String.fromCharCode(...Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
}
