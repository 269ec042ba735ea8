import { armVariable, CHART_THEMES } from '../chart/colours.ts';
import { escapeText } from '../chart/markup.ts';

/** Markup that was made by `html`, and so holds no unescaped text. */
class Markup {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}

/** What may stand in a template: text is escaped, markup is not. */
export type Cell = string | Markup;

/**
 * Template tag for markup: every value that is not markup itself is escaped, so no text can become an element or leave
 * its attribute. Lists are joined.
 */
export function html(strings: TemplateStringsArray, ...values: (Cell | Cell[])[]): Markup {
  const shown = values.map((value) => [value].flat().map(markupOf).join(''));
  return new Markup(strings.map((text, i) => text + (shown[i] ?? '')).join(''));
}

/** Markup from the lab's own writers (`chartSvg`), which escape for themselves. Never for text from outside. */
html.raw = (markup: string): Markup => new Markup(markup);

/** A table with a header row; the first column names the row. Scrolls sideways where it is too wide. */
export function table(header: readonly string[], rows: readonly Cell[][], caption = ''): Markup {
  return html`<div class="scroll"><table>${caption ? html`<caption>${caption}</caption>` : ''}<thead><tr>${header.map(
    (cell) => html`<th scope="col">${cell}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${row.map((cell, i) => (i === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>`,
  )}</tbody></table></div>`;
}

/** True for an http(s) address: only those become links. */
export function safeAddress(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text);
}

/** The style sheet of a report: colours by the reader's system, nothing loaded. */
export function reportStyle(): Markup {
  const { light, dark } = CHART_THEMES;
  const colours = ({ background, ink, soft, rule, arms }: typeof light) =>
    `--paper:${background};--ink:${ink};--soft:${soft};--rule:${rule};${arms.map((arm, i) => `${armVariable(i)}:${arm};`).join('')}`;
  return html.raw(`:root{color-scheme:light dark;${colours(light)}}
@media (prefers-color-scheme:dark){:root{${colours(dark)}}}
*{box-sizing:border-box}
body{margin:2rem auto;padding:0 1rem;max-width:56rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--rule)}
.question,figcaption,caption,small,dt{color:var(--soft)}
.notes{border-left:3px solid var(--arm-1);padding:.4rem 0 .4rem 1.6rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:.6rem 0;width:100%}
caption{text-align:left;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--rule);font-weight:400;min-width:5rem}
thead th{font-weight:600}
figure{margin:1.4rem 0}
figure svg{display:block;max-width:100%;height:auto}
figcaption{font-size:.9rem}
dl{display:grid;grid-template-columns:minmax(9rem,max-content) 1fr;gap:.2rem 1rem;margin:.6rem 0}
dd{margin:0}
a{color:inherit}
article{border-top:1px solid var(--rule);padding:.6rem 0}
article p{margin:.4rem 0 0;color:var(--soft);font-size:.9rem}
blockquote{margin:0;font-family:Georgia,serif}
ol{margin:.2rem 0;padding-left:1.6rem}
code{font:.85rem/1.4 ui-monospace,monospace}
@media print{body{margin:0;max-width:none}figure,article{break-inside:avoid}}`);
}

function markupOf(value: Cell): string {
  return value instanceof Markup ? String(value) : escapeText(value);
}
