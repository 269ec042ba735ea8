import { counterUniform } from '../../../src/policy/twin/counter.ts';
import { sample } from '../../../src/policy/twin/sample.ts';
import * as kernels from '../../../src/policy/webgpu/kernels.ts';
import { bitsOf, range, reals, widen, words } from '../numbers.ts';
import { BRIEF, COUNTS, EXACT, type KernelCase } from './case.ts';

const draws = (temperature: number): KernelCase => ({
  name: `sample at temperature ${temperature}`,
  proves: ['sample'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const [vocab, rollouts, stop, limit, step] = [37, 250, 3, 9, 1];
    const z = reals(rng, n * vocab, 2);
    // A tie for the largest in the first row.
    if (n > 0) z.fill(9, 2, 4);
    const owner = Uint32Array.from(rng.sample(range(rollouts), n));
    const positions = Uint32Array.from({ length: n }, () => rng.int(1000));
    const seed = rng.bits();
    const out = await bench.run(
      kernels.sample(vocab, rollouts, 'n'),
      [
        { uniform: [n, step, 0, 0] },
        { uniform: [stop, limit, seed, ...bitsOf(temperature)] },
        widen(z, n, vocab, Number.NaN),
        owner,
        positions,
        new Uint32Array(4 * n),
        new Uint32Array(4),
        new Uint32Array(rollouts * 2),
      ],
      { n: Math.max(1, n) },
    );
    const drawn = words(out[5]!);
    const tokens = range(n).map((row) => {
      const place = { seed, rollout: owner[row]!, position: positions[row]! + 1 };
      const made = drawn[4 * row + 2]!;
      const own = z.subarray(row * vocab, (row + 1) * vocab);
      if (isClose(own, temperature, place, made)) return made;
      return sample(own, 0, vocab, { temperature }, place).token;
    });
    const sampled = new Uint32Array(rollouts * 2);
    for (const [row, token] of tokens.entries()) sampled[step * rollouts + owner[row]!] = token + 1;
    const next = tokens.flatMap((token, row) => [
      owner[row]!,
      positions[row]! + 1,
      token,
      token === stop ? 0 : 1,
    ]);
    return [
      { name: 'next', out: drawn, reference: next, bound: EXACT },
      { name: 'header', out: words(out[6]!).subarray(0, 2), reference: [n, step + 1], bound: EXACT },
      { name: 'sampled', out: words(out[7]!), reference: sampled, bound: EXACT },
    ];
  },
});

/** True where rounding may decide: u lies within 1e-6 of a boundary of the token's part of the CDF. */
function isClose(
  z: Float32Array,
  temperature: number,
  key: { seed: number; rollout: number; position: number },
  token: number,
): boolean {
  if (temperature === 0) return false;
  const top = Math.max(...z);
  const masses = Array.from(z, (v) => Math.exp((v - top) / temperature));
  const total = masses.reduce((a, b) => a + b, 0);
  const below = masses.slice(0, token).reduce((a, b) => a + b, 0) / total;
  const u = counterUniform(key.seed, key.rollout, key.position);
  return Math.min(Math.abs(u - below), Math.abs(u - below - masses[token]! / total)) < 1e-6;
}

const compact: KernelCase = {
  name: 'compact',
  proves: ['compact'],
  counts: COUNTS,
  brief: BRIEF,
  async run(bench, n, rng) {
    const step = rng.int(100);
    const next = range(n).map((i) => [i + 100, rng.int(50), rng.int(9), rng.int(2)]);
    const kept = next.filter((row) => row[3] === 1);
    const blank = () => new Uint32Array(n).fill(77);
    const out = await bench.run(
      kernels.compact('n'),
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
};

export const sampleCases: readonly KernelCase[] = [...[0, 0.7, 1.3].map(draws), compact];
