import type { JsonObject } from '../../base/json.ts';
import { AddedSplitter, type AddedToken } from './added.ts';
import { readSpelled, spellBytes, utf8 } from './alphabet.ts';
import { Merger, type Merges } from './merge.ts';
import { PieceCache } from './pieces.ts';
import { checkId, nameOf, refuse } from './refuse.ts';
import { createSplitter, type SplitStep, type Splitter } from './split.ts';
import type { EncodeOptions, StreamDecoder, Tokenizer } from './tokenizer.ts';
import { utf8Runs } from './utf8.ts';
import { writeTokenizerJson } from './write.ts';

/** Unicode normal forms that a tokenizer may ask for. */
export type NormalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

/** All that makes a byte-level byte-pair encoding. Whoever builds one has checked it: `readTokenizerJson`, `trainBytePairs`. */
export interface BytePairSpec {
  /** By id: bytes spelled in the byte alphabet, added tokens as they are. */
  tokens: readonly string[];
  merges: Merges;
  /** A pre-token that is itself a token becomes it, whatever the merges say (Llama 3). */
  ignoreMerges: boolean;
  normalForms: readonly NormalForm[];
  steps: readonly SplitStep[];
  /** A space is put before text that does not begin with one. */
  prefixSpace: boolean;
  added: readonly AddedToken[];
  /** Ids before and after a whole sequence. */
  frame: { before: readonly number[]; after: readonly number[] };
}

/** Longest pre-token whose encoding is kept, in UTF-16 units. */
const LONGEST_KEPT = 64;

/**
 * Byte-level byte-pair encoding (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2). Text is
 * parted at added tokens, normalised, cut into pre-tokens, and each of these, as UTF-8, merged by rank. Encoding is the
 * lab's own, as it must refuse damaged files, keep every byte, spell special tokens on demand only and be fast; the
 * library of Hugging Face compiles the patterns and is what tests hold this against.
 */
export class BytePairTokenizer implements Tokenizer {
  readonly kind = 'bytes';
  readonly size: number;
  readonly special: ReadonlyMap<string, number>;
  readonly lossless: boolean;
  readonly spec: BytePairSpec;
  readonly #ids: ReadonlyMap<string, number>;
  /** Bytes of token i are bytes[ends[i − 1] … ends[i]). */
  readonly #bytes: Uint8Array;
  readonly #ends: Int32Array;
  /** Id of each byte [256]; −1 where the vocabulary has none. */
  readonly #byteIds: Int32Array;
  readonly #merger: Merger;
  readonly #split: Splitter;
  readonly #raw: AddedSplitter;
  readonly #rawPlain: AddedSplitter;
  readonly #normal: AddedSplitter;
  readonly #normalPlain: AddedSplitter;
  readonly #cache = new PieceCache();
  readonly #added: ReadonlySet<number>;
  #identity: string | null = null;

  /** @throws LabError on a pattern of `spec.steps` that can't be used. */
  constructor(spec: BytePairSpec) {
    this.spec = spec;
    this.size = spec.tokens.length;
    this.special = new Map(spec.added.filter((t) => t.special).map((t) => [t.content, t.id]));
    this.lossless =
      spec.normalForms.length === 0 && !spec.prefixSpace && !spec.added.some((t) => t.lstrip || t.rstrip);
    this.#ids = new Map(spec.tokens.map((token, id) => [token, id]));
    this.#split = createSplitter(spec.steps, 'pre_tokenizer');
    this.#merger = new Merger(spec.merges);
    const normalize = (text: string) => this.#normalize(text);
    const raw = spec.added.filter((t) => !t.normalized);
    const normal = spec.added.filter((t) => t.normalized);
    const plain = (t: AddedToken) => !t.special;
    this.#raw = new AddedSplitter(raw);
    this.#rawPlain = new AddedSplitter(raw.filter(plain));
    this.#normal = new AddedSplitter(normal, normalize);
    this.#normalPlain = new AddedSplitter(normal.filter(plain), normalize);
    this.#added = new Set(spec.added.map((t) => t.id));
    const bytes = spec.tokens.map(
      (token, id) => (this.#added.has(id) ? null : readSpelled(token)) ?? utf8(token),
    );
    this.#ends = new Int32Array(this.size);
    let end = 0;
    for (const [id, own] of bytes.entries()) this.#ends[id] = end += own.length;
    this.#bytes = new Uint8Array(end);
    for (const [id, own] of bytes.entries()) this.#bytes.set(own, this.#ends[id]! - own.length);
    this.#byteIds = Int32Array.from(
      { length: 256 },
      (_, byte) => this.#ids.get(spellBytes(Uint8Array.of(byte))) ?? -1,
    );
  }

  /** See `Tokenizer.identity`; made when first asked for, since it reads the whole vocabulary. */
  get identity(): string {
    this.#identity ??= `bytes-${nameOf(JSON.stringify(this.toJson()))}`;
    return this.#identity;
  }

  encode(text: string, { special = 'token', frame = false }: EncodeOptions = {}): number[] {
    const [raw, normal] =
      special === 'token' ? [this.#raw, this.#normal] : [this.#rawPlain, this.#normalPlain];
    const ids: number[] = frame ? [...this.spec.frame.before] : [];
    for (const section of raw.split(text)) {
      if (typeof section === 'number') ids.push(section);
      else
        for (const part of normal.split(this.#normalize(section))) {
          if (typeof part === 'number') ids.push(part);
          else this.#encodeText(part, ids);
        }
    }
    if (frame) ids.push(...this.spec.frame.after);
    return ids;
  }

  /**
   * Any bytes as ids, so that decodeBytes(encodeBytes(b)) = b: stretches of UTF-8 are split as text is (added tokens are not
   * looked for, nothing is normalised), every other byte stands alone.
   * @throws LabError on a byte that the vocabulary has no token for.
   */
  encodeBytes(bytes: Uint8Array): number[] {
    const ids: number[] = [];
    for (const run of utf8Runs(bytes)) {
      if (typeof run === 'number') ids.push(this.#byteId(run));
      else for (const piece of this.#split(run)) for (const id of this.#encodePiece(piece)) ids.push(id);
    }
    return ids;
  }

  decode(ids: readonly number[]): string {
    return newDecoder().decode(this.decodeBytes(ids));
  }

  /** The bytes that the ids stand for, special tokens by their names. @throws LabError on an id outside the vocabulary. */
  decodeBytes(ids: readonly number[]): Uint8Array {
    let length = 0;
    for (const [i, id] of ids.entries()) {
      checkId(id, this.size, `token ${i}`);
      length += this.#ends[id]! - (this.#ends[id - 1] ?? 0);
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const id of ids) {
      const own = this.#bytesOf(id);
      bytes.set(own, at);
      at += own.length;
    }
    return bytes;
  }

  stream(): StreamDecoder {
    const decoder = newDecoder();
    return {
      push: (...ids) => decoder.decode(this.decodeBytes(ids), { stream: true }),
      end: () => decoder.decode(),
    };
  }

  token(id: number): string {
    checkId(id, this.size, 'token');
    return this.spec.tokens[id]!;
  }

  id(token: string): number | undefined {
    return this.#ids.get(token);
  }

  /** A tokenizer.json as Hugging Face's libraries read it. */
  toJson(): JsonObject {
    return writeTokenizerJson(this.spec);
  }

  #normalize(text: string): string {
    return this.spec.normalForms.reduce((t, form) => t.normalize(form), text);
  }

  #encodeText(text: string, ids: number[]): void {
    const whole = this.spec.prefixSpace && !text.startsWith(' ') ? ` ${text}` : text;
    for (const piece of this.#split(whole)) {
      const kept = this.#cache.get(piece);
      const own = kept ?? this.#encodePiece(piece);
      if (!kept && piece.length <= LONGEST_KEPT) this.#cache.set(piece, own);
      for (const id of own) ids.push(id);
    }
  }

  #encodePiece(piece: string): readonly number[] {
    const bytes = utf8(piece);
    if (this.spec.ignoreMerges) {
      const whole = this.#ids.get(spellBytes(bytes));
      // Ordinary text never becomes an added token on this way.
      if (whole !== undefined && !this.#added.has(whole)) return [whole];
    }
    const ids = new Int32Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) ids[i] = this.#byteId(bytes[i]!);
    return this.#merger.merge(ids);
  }

  #byteId(byte: number): number {
    const id = this.#byteIds[byte]!;
    if (id >= 0) return id;
    return refuse(
      `the vocabulary has no token for the byte 0x${byte.toString(16)}`,
      'bytes',
      'use a tokenizer with all 256 bytes',
    );
  }

  #bytesOf(id: number): Uint8Array {
    return this.#bytes.subarray(this.#ends[id - 1] ?? 0, this.#ends[id]);
  }
}

/** Keeps a byte order mark: it is text like any other. */
function newDecoder(): TextDecoder {
  return new TextDecoder('utf-8', { ignoreBOM: true });
}
