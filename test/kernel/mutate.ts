/** One small change of a kernel's text. */
export interface Mutant {
  /** File of shaders/, without its extension. */
  file: string;
  /** Line of the file, from 1. */
  line: number;
  /** What stands there and what is put in its place. */
  from: string;
  to: string;
  /** The whole line after the change, without indentation. */
  text: string;
  source: string;
}

/** What may stand where: the first pattern that matches at a place gives what is put there. */
const RULES: readonly [RegExp, (token: string) => readonly string[]][] = [
  // A comparison moves its boundary, never its direction: a loop must still end.
  [/(?<= )<=(?= )/y, () => ['<']],
  [/(?<= )>=(?= )/y, () => ['>']],
  [/(?<= )<(?= )/y, () => ['<=']],
  [/(?<= )>(?= )/y, () => ['>=']],
  [/(?<= )==(?= )/y, () => ['!=']],
  [/(?<= )!=(?= )/y, () => ['==']],
  [/&&/y, () => ['||']],
  [/\|\|/y, () => ['&&']],
  [/(?<= )<<(?= )/y, () => ['>>']],
  [/(?<= )>>(?= )/y, () => ['<<']],
  [/(?<= )\^(?= )/y, () => ['|']],
  [/(?<= )&(?= )/y, () => ['|']],
  [/(?<= )\|(?= )/y, () => ['&']],
  [/(?<= )\+=(?= )/y, () => ['-=', '=']],
  [/(?<= )-=(?= )/y, () => ['+=', '=']],
  [/(?<= )\*=(?= )/y, () => ['/=', '=']],
  [/(?<= )\^=(?= )/y, () => ['|=', '=']],
  [/(?<= )\|=(?= )/y, () => ['&=', '=']],
  [/(?<= )&=(?= )/y, () => ['|=', '=']],
  [/(?<= )\+(?= )/y, () => ['-']],
  [/(?<= )-(?= )/y, () => ['+']],
  [/(?<= )\*(?= )/y, () => ['/']],
  [/(?<= )\/(?= )/y, () => ['*']],
  [/(?<= )%(?= )/y, () => ['/']],
  // A sign: a minus that follows no operand.
  [/(?<=[(=,*/+] ?)-(?=[\w(])/y, () => ['']],
  [/\bmin(?=\()/y, () => ['max']],
  [/\bmax(?=\()/y, () => ['min']],
  [/\btrue\b/y, () => ['false']],
  [/\bfalse\b/y, () => ['true']],
  // A component becomes its neighbour.
  [/(?<=[\w\])]\.)x\b/y, () => ['y']],
  [/(?<=[\w\])]\.)y\b/y, () => ['x']],
  [/(?<=[\w\])]\.)z\b/y, () => ['w']],
  [/(?<=[\w\])]\.)w\b/y, () => ['z']],
  // Reals by a hundredth, whole numbers by one.
  [/(?<![\w.$])\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)/y, (token) => [nudged(token)]],
  [/(?<![\w.$])0x[0-9a-f]+u?/y, (token) => [`(${token} + 1)`]],
  [/(?<![\w.$])\d+u?(?![\w.])/y, (token) => moved(token)],
  // A literal size; VEC is a type.
  [/\b(?!VEC\b)[A-Z][A-Z0-9_]+\b/y, (token) => [`(${token} + 1)`]],
];

const nudged = (token: string): string => (Number(token) === 0 ? '0.01' : String(Number(token) * 1.01));

function moved(token: string): string[] {
  const [value, suffix] = [Number.parseInt(token, 10), token.endsWith('u') ? 'u' : ''];
  return [`${value + 1}${suffix}`, ...(value > 1 ? [`${value - 1}${suffix}`] : [])];
}

/** Lines whose change would give another interface, or nothing that runs: declarations, types and directives. */
const FIXED =
  /^\s*(?:@group|struct |enable |diagnostic|\/\/|@builtin|@compute|@workgroup_size|fn |var<workgroup>|\}|[a-z_]\w*: \w+,)/;

/** The head of a loop up to its step, and with it. */
const LOOP = /^\s*for \([^;]*;[^;]*;/;
const HEAD = /^\s*for \([^;]*;[^;]*;[^;{]*\{/;

/**
 * Every mutant of a kernel's template: each operator, comparison, literal, component and size in its statements changed
 * by itself, and each condition of the template (`//! if`) negated.
 */
export function mutantsOf(file: string, source: string): Mutant[] {
  const lines = source.split('\n');
  return lines.flatMap((line, index) => {
    const put = (from: string, at: number, to: string): Mutant => {
      const text = line.slice(0, at) + to + line.slice(at + from.length);
      return {
        file,
        line: index + 1,
        from,
        to,
        text: text.trim(),
        source: bounded(lines.with(index, text)).join('\n'),
      };
    };
    const condition = /^\s*\/\/! if (!?)(?=[A-Z])/.exec(line);
    if (condition)
      return [put(condition[0], 0, condition[0].replace(/if !?/, condition[1] ? 'if ' : 'if !'))];
    if (FIXED.test(line)) return [];
    // A loop must still end: in its step only addends change, and its condition keeps a bound of 0.
    const [step, body] = [LOOP, HEAD].map((pattern) => pattern.exec(line)?.[0].length ?? 0) as [
      number,
      number,
    ];
    const out: Mutant[] = [];
    for (let at = 0; at < line.length; ) {
      const hit = tokenAt(line, at);
      const frozen =
        at >= step && at < body
          ? !/^[\dA-Z]/.test(hit.token) || /[*/]= \d+\) \{/.test(line)
          : at < body && / > 0;/.test(line) && hit.token === '>';
      if (!frozen) for (const to of hit.replacements) out.push(put(hit.token, at, to));
      at += hit.token.length;
    }
    return out;
  });
}

/** A loop without a condition may lose its end with the change; here it ends after more rounds than any kernel makes. */
const bounded = (lines: readonly string[]): string[] =>
  lines.map((line) =>
    line.replace(/^(\s*)loop \{$/, '$1var rounds_ = 0; loop { rounds_++; if (rounds_ > 9999) { break; }'),
  );

function tokenAt(line: string, at: number): { token: string; replacements: readonly string[] } {
  for (const [pattern, replace] of RULES) {
    pattern.lastIndex = at;
    const token = pattern.exec(line)?.[0];
    if (token) return { token, replacements: replace(token) };
  }
  // A name in one piece: no digit inside it is a literal.
  const name = /[A-Za-z_$]\w*/y;
  name.lastIndex = at;
  return { token: name.exec(line)?.[0] ?? line[at]!, replacements: [] };
}
