/** A token that text is searched for before it is split: special tokens and whole words added after training. */
export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
  /** Only where no letter, digit or underscore touches it. */
  singleWord: boolean;
  /** Swallows white space before it and after it. */
  lstrip: boolean;
  rstrip: boolean;
  /** Looked for in the normalised text, not in the raw one. */
  normalized: boolean;
}

/** Text, or the id of an added token. */
export type Section = string | number;

interface Node {
  token: AddedToken | null;
  next: Map<number, Node>;
}

/** Finds added tokens in text: leftmost first, the longest of those that begin there. */
export class AddedSplitter {
  readonly #root: Node = { token: null, next: new Map() };
  /** 1 for each UTF-16 unit that a token begins with. */
  readonly #first = new Uint8Array(1 << 16);

  /** @param spell how the token is looked for; its content where nothing is said. */
  constructor(tokens: Iterable<AddedToken>, spell: (content: string) => string = (content) => content) {
    for (const token of tokens) {
      const content = spell(token.content);
      let node = this.#root;
      for (let i = 0; i < content.length; i++) {
        const unit = content.charCodeAt(i);
        let next = node.next.get(unit);
        if (!next) {
          next = { token: null, next: new Map() };
          node.next.set(unit, next);
        }
        node = next;
      }
      node.token ??= token;
      this.#first[content.charCodeAt(0)] = 1;
    }
  }

  /** Sections in order, no text of them empty. */
  split(text: string): Section[] {
    if (this.#root.next.size === 0) return text === '' ? [] : [text];
    const sections: Section[] = [];
    let from = 0;
    for (let at = 0; at < text.length; ) {
      const found = this.#first[text.charCodeAt(at)] ? this.#longest(text, at) : null;
      if (!found || (found.token.singleWord && touchesWord(text, at, found.end))) {
        at++;
        continue;
      }
      const begin = found.token.lstrip ? from + text.slice(from, at).trimEnd().length : at;
      let end = found.end;
      if (found.token.rstrip) end = text.length - text.slice(end).trimStart().length;
      if (begin > from) sections.push(text.slice(from, begin));
      sections.push(found.token.id);
      from = at = end;
    }
    if (from < text.length) sections.push(text.slice(from));
    return sections;
  }

  #longest(text: string, at: number): { token: AddedToken; end: number } | null {
    let best: { token: AddedToken; end: number } | null = null;
    let node = this.#root.next.get(text.charCodeAt(at));
    for (let end = at + 1; node; end++) {
      if (node.token) best = { token: node.token, end };
      node = end < text.length ? node.next.get(text.charCodeAt(end)) : undefined;
    }
    return best;
  }
}

const WORD_BEFORE = /[\p{L}\p{M}\p{N}_]$/u;
const WORD_AFTER = /^[\p{L}\p{M}\p{N}_]/u;

function touchesWord(text: string, begin: number, end: number): boolean {
  return (
    WORD_BEFORE.test(text.slice(Math.max(0, begin - 2), begin)) || WORD_AFTER.test(text.slice(end, end + 2))
  );
}
