import { invariant } from '../base/errors.ts';

/** Literal sizes and switches of a shader: a number, a boolean or the name of a type, by its UPPER_CASE name. */
export type Constants = Readonly<Record<string, number | boolean | string>>;

const NAME = /\b[A-Z][A-Z0-9_]+\b/g;

/**
 * Bakes literal sizes into WGSL text and unrolls what is marked for it, because pipeline-overridable array sizes are
 * wrong in some browsers and Tint does not unroll loops. Directives stand on lines of their own and nest:
 *
 *     //! repeat i ROWS      the lines up to the matching //! end, once for each $i in 0 … ROWS − 1
 *     //! if RESIDUAL        the lines up to the matching //! end, where the constant is true (or ≠ 0); `!NAME` negates
 *     //! end
 *
 * A number becomes its decimal digits (write `WIDTH` where an abstract integer fits, `WIDTHu` never).
 * @throws Error where a name has no value or a directive has no end: both are mistakes in this code base.
 */
export function wgsl(source: string, constants: Constants): string {
  const key = JSON.stringify(constants);
  const ofSource = texts.get(source) ?? new Map<string, string>();
  texts.set(source, ofSource);
  const held = ofSource.get(key);
  if (held !== undefined) return held;
  const made = bake(source, constants);
  ofSource.set(key, made);
  return made;
}

/** Texts by source and constants: every layer asks for the same ones, and so does every plan of memory. */
const texts = new Map<string, Map<string, string>>();

function bake(source: string, constants: Constants): string {
  const lines = source.split('\n').filter((line) => line.includes('//!') || !/^\s*\/\//.test(line));
  const text = expand(lines, constants).join('\n');
  return text.replace(NAME, (name) => {
    const value = constants[name];
    invariant(value !== undefined, `shader constant ${name} has no value`);
    return String(value);
  });
}

function expand(lines: readonly string[], constants: Constants): string[] {
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const directive = /^\s*\/\/!\s*(.*)$/.exec(line)?.[1]?.trim();
    if (directive === undefined) {
      out.push(line);
      continue;
    }
    const end = matchingEnd(lines, at);
    const body = lines.slice(at + 1, end);
    out.push(...block(directive, body, constants));
    at = end;
  }
  return out;
}

function block(directive: string, body: readonly string[], constants: Constants): string[] {
  const [verb, first = '', second = ''] = directive.split(/\s+/);
  if (verb === 'if') {
    const negated = first.startsWith('!');
    const value = read(negated ? first.slice(1) : first, constants);
    return Boolean(value) !== negated ? expand(body, constants) : [];
  }
  invariant(verb === 'repeat', `unknown shader directive ${directive}`);
  const out: string[] = [];
  for (let i = 0; i < Number(read(second, constants)); i++)
    out.push(
      ...expand(
        body.map((line) => line.replaceAll(`$${first}`, String(i))),
        constants,
      ),
    );
  return out;
}

function read(name: string, constants: Constants): number | boolean | string {
  if (/^\d+$/.test(name)) return Number(name);
  const value = constants[name];
  invariant(value !== undefined, `shader constant ${name} has no value`);
  return value;
}

function matchingEnd(lines: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < lines.length; at++) {
    const directive = /^\s*\/\/!\s*(\w+)/.exec(lines[at]!)?.[1];
    if (directive === 'end') depth--;
    else if (directive !== undefined) depth++;
    if (depth === 0) return at;
  }
  throw new Error(`Broken assumption: shader directive on line ${from + 1} has no end`);
}
