import { Marked, type Token, type TokenizerAndRendererExtension } from 'marked';

/** A formula in the lesson: TeX between single dollars inside a line, between double ones on lines of its own. */
export interface TexToken {
  type: 'tex';
  raw: string;
  text: string;
  display: boolean;
}

const inline: TokenizerAndRendererExtension = {
  name: 'tex',
  level: 'inline',
  start: (source) => {
    const at = source.indexOf('$');
    return at < 0 ? undefined : at;
  },
  tokenizer: (source): TexToken | undefined => {
    const match = /^\$(?!\s|\$)((?:\\.|[^\\$\n])+?)(?<!\s)\$(?!\d)/.exec(source);
    return match ? { type: 'tex', raw: match[0], text: match[1] ?? '', display: false } : undefined;
  },
};

const block: TokenizerAndRendererExtension = {
  name: 'texBlock',
  level: 'block',
  start: (source) => {
    const at = source.indexOf('$$');
    return at < 0 ? undefined : at;
  },
  tokenizer: (source): TexToken | undefined => {
    const match = /^\$\$\s*([\s\S]+?)\s*\$\$(?:\n+|$)/.exec(source);
    return match ? { type: 'tex', raw: match[0], text: match[1] ?? '', display: true } : undefined;
  },
};

const reader = new Marked({ gfm: true, extensions: [inline, block] });

/** The token tree of a lesson. Nothing here is HTML: pages build their elements from the tokens. */
export function readLesson(markdown: string): Token[] {
  return reader.lexer(markdown);
}

/** Text that Markdown wrote with character references, as it is meant to be read. */
export function plainText(text: string): string {
  const known: Record<string, string> = {
    '&amp;': '&',
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
  };
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (reference) => known[reference] ?? reference);
}

/** A link that may be followed: a page on the web, or a place on this one. Anything else is shown as text. */
export function safeLink(href: string): string | null {
  return /^https:\/\//i.test(href) || href.startsWith('#') ? href : null;
}
