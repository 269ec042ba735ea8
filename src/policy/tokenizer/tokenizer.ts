import type { JsonObject } from '../../base/json.ts';

/** How text is read. */
export interface EncodeOptions {
  /**
   * `token`, the default: where text spells a special token, it becomes that token, as in every Hugging Face tokenizer.
   * `text`: it is ordinary text. Use it for what others wrote, so that no one can forge the end of a turn.
   */
  special?: 'token' | 'text';
  /** Puts what the tokenizer wants around a whole sequence (`<s>` … `</s>`, `<|begin_of_text|>` …) around it. */
  frame?: boolean;
}

/** Decodes ids as they are sampled: says a character once all of its bytes have come, not before. */
export interface StreamDecoder {
  /** @returns the text that the ids complete. @throws LabError on an id outside the vocabulary. */
  push(...ids: readonly number[]): string;
  /** Ends the text: what is left of a character that never came whole is U+FFFD. The decoder is fresh after it. */
  end(): string;
}

/** Text ⇄ token ids. Ids are the whole numbers 0 … size − 1, each a row of the policy's embedding. */
export interface Tokenizer {
  /** `words`: a closed list of words. `bytes`: byte-level byte-pair encoding, which can spell every text. */
  readonly kind: 'words' | 'bytes';
  /** V, count of ids. */
  readonly size: number;
  /** Ids of the special tokens, by name. */
  readonly special: ReadonlyMap<string, number>;
  /**
   * True where decode(encode(s)) = s for every well-formed text that can be encoded. A lone surrogate has no UTF-8; it
   * is read as U+FFFD by every kind of `bytes`. False where the tokenizer's own rules change the text first: Unicode
   * normalisation, an added space, a special token that swallows the space beside it, words set apart by other than one space.
   */
  readonly lossless: boolean;
  /** Short name of all that decides how text is read and written; equal for tokenizers that do the same. For checkpoints. */
  readonly identity: string;
  /** @throws LabError where the text holds a word that the vocabulary has not. */
  encode(text: string, options?: EncodeOptions): number[];
  /** @throws LabError on an id outside the vocabulary, with its place. */
  decode(ids: readonly number[]): string;
  stream(): StreamDecoder;
  /** How a token is spelled in files: words as they are, bytes in the alphabet of GPT-2. @throws LabError as `decode`. */
  token(id: number): string;
  /** Id of the token spelled so. */
  id(token: string): number | undefined;
  /** What `loadTokenizer` reads back to a tokenizer of the same identity. */
  toJson(): JsonObject;
}
