import type { Rng } from '../../../src/base/rng.ts';
import type { Grammar, Truncation } from '../../../src/policy/engine.ts';
import { allows } from '../../../src/policy/grammar.ts';
import { counterUniform } from '../../../src/policy/twin/counter.ts';
import { TruncatedRow } from '../../../src/policy/twin/truncate.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { bitsOf, drawUntil, poison, range, reals, widen, words } from '../numbers.ts';
import { BRIEF, COUNTS, EXACT, FORWARD, type KernelCase } from './case.ts';

const [ROLLOUTS, STOP, LIMIT, STEP] = [250, 3, 9, 1];

/** What a case cuts, how many threads share a row, and the size of the vocabulary: multiples of 4 and others. */
interface Variant {
  temperature: number;
  topP: number;
  grammar: boolean;
  lanes: number;
  vocab: number;
}

const VARIANTS: readonly Variant[] = [
  { temperature: 0, topP: 1, grammar: false, lanes: 1, vocab: 37 },
  { temperature: 0.7, topP: 1, grammar: false, lanes: 1, vocab: 36 },
  { temperature: 1.3, topP: 1, grammar: false, lanes: 32, vocab: 37 },
  { temperature: 0, topP: 1, grammar: true, lanes: 32, vocab: 37 },
  { temperature: 1, topP: 1, grammar: true, lanes: 1, vocab: 36 },
  { temperature: 1, topP: 0.9, grammar: false, lanes: 1, vocab: 37 },
  { temperature: 0.6, topP: 0.5, grammar: false, lanes: 4, vocab: 131 },
  { temperature: 1.3, topP: 0.8, grammar: true, lanes: 1, vocab: 37 },
  { temperature: 0.8, topP: 0.7, grammar: true, lanes: 32, vocab: 132 },
];

const nameOf = ({ temperature, topP, grammar, lanes, vocab }: Variant): string =>
  `at temperature ${temperature}, top-p ${topP}${grammar ? ', a grammar' : ''}, ${vocab} tokens, ${lanes} lanes`;

/** States that allow some classes each; token t has class t mod 5, so that every class has tokens. */
function grammarOf(rng: Rng, vocab: number): Grammar {
  const [states, classCount] = [4, 5];
  const next = Int32Array.from({ length: states * classCount }, () =>
    rng.chance(0.5) ? rng.int(states) : -1,
  );
  for (let s = 0; s < states; s++) next[s * classCount + rng.int(classCount)] = rng.int(states);
  return { classes: Uint16Array.from({ length: vocab }, (_, t) => t % classCount), classCount, next };
}

/** Logits, half of the rows on a coarse grid where many tie; no mass of the first k tokens comes near to the nucleus's. */
function logitsOf(
  rng: Rng,
  vocab: number,
  truncation: Truncation,
  state: number,
  coarse: boolean,
): Float32Array {
  const { temperature, topP = 1, grammar } = truncation;
  return drawUntil(
    rng,
    () => reals(rng, vocab, 2).map((z) => (coarse ? Math.round(z) / 2 : z)),
    (z) => {
      if (topP === 1) return true;
      const open = [...z].filter((_, id) => !grammar || allows(grammar, state, id)).sort((a, b) => b - a);
      const masses = open.map((value) => Math.exp((value - open[0]!) / temperature));
      const total = masses.reduce((a, b) => a + b, 0);
      let sum = 0;
      return masses.every((mass) => {
        sum += mass;
        return Math.abs(sum / total - topP) > 1e-5;
      });
    },
  );
}

/** Inputs of n rows, and the distribution of each by its twin. */
function inputsOf(variant: Variant, n: number, rng: Rng) {
  const { temperature, topP, vocab } = variant;
  const grammar = variant.grammar ? grammarOf(rng, vocab) : null;
  const truncation: Truncation = { temperature, topP, ...(grammar ? { grammar } : {}) };
  const states = range(n).map(() => (grammar ? rng.int(grammar.next.length / grammar.classCount) : 0));
  const z = new Float32Array(n * vocab);
  for (const row of range(n))
    z.set(logitsOf(rng, vocab, truncation, states[row]!, row % 2 === 0), row * vocab);
  const table = grammar ? Uint32Array.from([...grammar.classes, ...grammar.next]) : null;
  const twin = new TruncatedRow(vocab);
  const distribution = (row: number) => twin.read(z, row * vocab, truncation, states[row]!);
  return { grammar, states, z, table, distribution };
}

const turnOf = ({ temperature, topP }: Variant, grammar: Grammar | null, seed: number) => ({
  uniform: [STOP, LIMIT, seed, ...bitsOf(temperature, topP), grammar?.classCount ?? 0, 0, 0],
});

const cutsOf = ({ topP, grammar }: Variant) => ({ nucleus: topP < 1, grammar });

const draws = (variant: Variant): KernelCase => ({
  name: `sample ${nameOf(variant)}`,
  proves: ['sample'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const { vocab, lanes, temperature } = variant;
    const { grammar, states, z, table, distribution } = inputsOf(variant, n, rng);
    const owner = Uint32Array.from(rng.sample(range(ROLLOUTS), n));
    const positions = Uint32Array.from({ length: n }, () => rng.int(1000));
    const seed = rng.bits();
    const held = new Uint32Array(ROLLOUTS);
    for (const row of range(n)) held[owner[row]!] = states[row]!;
    const out = await bench.run(
      kernels.sample(vocab, ROLLOUTS, { lanes }, cutsOf(variant), 'n'),
      [
        { uniform: [n, STEP, 0, 0] },
        turnOf(variant, grammar, seed),
        widen(z, n, vocab, Number.NaN),
        owner,
        positions,
        new Uint32Array(4 * n),
        new Uint32Array(4),
        new Uint32Array(ROLLOUTS * 4),
        ...(table ? [table, held] : []),
      ],
      { n: Math.max(1, n) },
    );
    const drawn = words(out[5]!);
    const [sampled, moved] = [new Uint32Array(ROLLOUTS * 4), held.slice()];
    const logProbs: number[] = [];
    const next = range(n).flatMap((row) => {
      const law = distribution(row);
      const made = drawn[4 * row + 2]!;
      const u = counterUniform(seed, owner[row]!, positions[row]! + 1);
      // Where u lies within 1e-6 of a boundary of the token's part of the CDF, rounding may decide.
      const token = [-1e-6, 0, 1e-6].some((by) => temperature > 0 && law.draw(u + by) === made)
        ? made
        : law.draw(u);
      logProbs.push(law.logProb(token));
      const at = 2 * (STEP * ROLLOUTS + owner[row]!);
      sampled[at] = token + 1;
      sampled[at + 1] = words(out[7]!)[at + 1]!;
      if (grammar)
        moved[owner[row]!] = grammar.next[states[row]! * grammar.classCount + grammar.classes[token]!]!;
      return [owner[row]!, positions[row]! + 1, token, token === STOP ? 0 : 1];
    });
    return [
      { name: 'next', out: drawn, reference: next, bound: EXACT },
      { name: 'header', out: words(out[6]!).subarray(0, 2), reference: [n, STEP + 1], bound: EXACT },
      { name: 'sampled', out: words(out[7]!), reference: sampled, bound: EXACT },
      {
        name: 'log-probabilities',
        out: range(n).map((row) => out[7]![2 * (STEP * ROLLOUTS + owner[row]!) + 1]!),
        reference: logProbs,
        bound: FORWARD,
      },
      ...(table ? [{ name: 'states', out: words(out[9]!), reference: moved, bound: EXACT }] : []),
    ];
  },
});

const asks = (variant: Variant): KernelCase => ({
  name: `truncated loss ${nameOf(variant)}`,
  proves: ['sample'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const { vocab, lanes } = variant;
    const { grammar, states, z, table, distribution } = inputsOf(variant, n, rng);
    // Any token, or one that has mass.
    const targets = Uint32Array.from(range(n), (row) =>
      rng.chance(0.5) ? rng.int(vocab) : distribution(row).draw(rng.float()),
    );
    const out = await bench.run(
      kernels.truncatedLoss(vocab, { lanes }, cutsOf(variant), 'n'),
      [
        { uniform: [n, 0, 0, 0] },
        turnOf(variant, grammar, 0),
        widen(z, n, vocab, Number.NaN),
        targets,
        poison(n),
        ...(table ? [table, Uint32Array.from(states)] : []),
      ],
      { n: Math.max(1, n) },
    );
    const expected = range(n).map((row) => -distribution(row).logProb(targets[row]!));
    const sides = expected.map((nll) => (nll === Infinity ? -1 : 1));
    return [
      { name: 'sides', out: out[4]!.map((nll) => (nll === -1 ? -1 : 1)), reference: sides, bound: EXACT },
      {
        name: 'nll',
        out: out[4]!,
        reference: expected.map((nll) => (nll === Infinity ? -1 : nll)),
        bound: FORWARD,
      },
    ];
  },
});

const compacts = (lanes: number): KernelCase => ({
  name: `compact with ${lanes} lanes`,
  proves: ['compact'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const step = rng.int(100);
    const next = range(n).map((i) => [i + 100, rng.int(50), rng.int(9), rng.int(2)]);
    const kept = next.filter((row) => row[3] === 1);
    const blank = () => new Uint32Array(n).fill(77);
    const out = await bench.run(
      kernels.compact(lanes),
      [
        Uint32Array.of(n, step, 0, 0),
        Uint32Array.from(next.flat()),
        Uint32Array.of(n, step - 1, 55, 55),
        blank(),
        blank(),
        blank(),
      ],
      { n: Math.max(1, n) },
    );
    const column = (field: number) => range(n).map((i) => kept[i]?.[field] ?? 77);
    return [
      { name: 'dims', out: words(out[2]!), reference: [kept.length, step, 55, 55], bound: EXACT },
      { name: 'rollouts', out: words(out[3]!), reference: column(0), bound: EXACT },
      { name: 'positions', out: words(out[4]!), reference: column(1), bound: EXACT },
      { name: 'tokens', out: words(out[5]!), reference: column(2), bound: EXACT },
    ];
  },
});

export const sampleCases: readonly KernelCase[] = [
  ...VARIANTS.map(draws),
  ...VARIANTS.map(asks),
  ...[1, 32].map(compacts),
];
