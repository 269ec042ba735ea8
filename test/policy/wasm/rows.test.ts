import { beforeAll, describe, expect, it } from 'vitest';
import { layout } from '../../../src/policy/layout.ts';
import { crossEntropy, crossEntropyBackward } from '../../../src/policy/twin/crossEntropy.ts';
import { embedGather, embedScatter } from '../../../src/policy/twin/embed.ts';
import { gelu, geluBackward } from '../../../src/policy/twin/gelu.ts';
import { rmsNorm, rmsNormBackward } from '../../../src/policy/twin/norm.ts';
import { adamw, gradNorm } from '../../../src/policy/twin/optimiser.ts';
import { rotary } from '../../../src/policy/twin/rotary.ts';
import { swiglu, swigluBackward } from '../../../src/policy/twin/swiglu.ts';
import { turns } from '../../../src/policy/wasm/machine.ts';
import { reals, relativeError } from '../../kernel/numbers.ts';
import { Bench, COUNTS, caseRng, FORWARD, GRADIENT, ragged } from './bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});

const grid = <T>(values: readonly T[]) => COUNTS.flatMap((n) => values.map((value) => [n, value] as const));

describe('rmsNorm', () => {
  it.each(grid([4, 12, 64]))('N %i, D %i, both ways', (n, d) => {
    const rng = caseRng('norm', n, d);
    const [x, gain, dy, before] = [reals(rng, n * d), reals(rng, d), reals(rng, n * d), reals(rng, n * d)];
    const at = { x: bench.put(x), gain: bench.put(gain), dy: bench.put(dy) };
    const y = new Float64Array(n * d);
    rmsNorm(x, gain, y, { n, d });
    const out = bench.room(n * d);
    bench.kernels.rmsNorm(at.x, at.gain, out, n, d);
    expect(bench.error(out, y)).toBeLessThan(FORWARD);
    for (const accumulate of [false, true]) {
      const dx = Float64Array.from(accumulate ? before : x);
      const dGain = Float64Array.from(gain);
      rmsNormBackward(x, gain, dy, dx, dGain, { n, d }, accumulate);
      const to = accumulate ? bench.put(before) : bench.room(n * d);
      const toGain = bench.put(gain);
      bench.kernels.rmsNormBackward(at.x, at.gain, at.dy, to, toGain, n, d, accumulate);
      expect(bench.error(to, dx)).toBeLessThan(GRADIENT);
      expect(bench.error(toGain, dGain)).toBeLessThan(GRADIENT);
    }
  });

  it('keeps a row of zeros finite', () => {
    const out = bench.room(8);
    bench.kernels.rmsNorm(bench.put(new Float32Array(8)), bench.put(new Float32Array(8).fill(2)), out, 1, 8);
    expect([...bench.read(out, 8)]).toEqual(new Array(8).fill(0));
  });
});

describe('the MLP’s non-linearities', () => {
  it.each(grid([1, 10, 64]))('N %i, F %i', (n, f) => {
    const rng = caseRng('mlp', n, f);
    const count = n * f;
    const [x, gateUp, dy] = [reals(rng, count, 2), reals(rng, 2 * count, 2), reals(rng, count)];
    const at = { x: bench.put(x), gateUp: bench.put(gateUp), dy: bench.put(dy) };
    const wanted = new Float64Array(count);
    const out = bench.room(count);
    gelu(x, wanted, count);
    bench.kernels.gelu(at.x, out, count);
    expect(bench.error(out, wanted)).toBeLessThan(FORWARD);
    geluBackward(x, dy, wanted, count);
    const inPlace = bench.put(dy);
    bench.kernels.geluBackward(at.x, inPlace, inPlace, count);
    expect(bench.error(inPlace, wanted)).toBeLessThan(GRADIENT);
    swiglu(gateUp, wanted, { n, f });
    bench.kernels.swiglu(at.gateUp, out, n, f);
    expect(bench.error(out, wanted)).toBeLessThan(FORWARD);
    const dWanted = new Float64Array(2 * count);
    swigluBackward(gateUp, dy, dWanted, { n, f });
    const dOut = bench.room(2 * count);
    bench.kernels.swigluBackward(at.gateUp, at.dy, dOut, n, f);
    expect(bench.error(dOut, dWanted)).toBeLessThan(GRADIENT);
  });

  it('keeps each value to 1e-6 of its own size over the whole range, and NaN where there is one', () => {
    const x = Float32Array.from({ length: 4001 }, (_, i) => (i - 2000) / 250);
    const out = bench.room(x.length);
    bench.kernels.gelu(bench.put(x), out, x.length);
    const wanted = new Float64Array(x.length);
    gelu(x, wanted, x.length);
    const got = bench.read(out, x.length);
    for (let i = 0; i < x.length; i++)
      expect(Math.abs(got[i]! - wanted[i]!)).toBeLessThan(1e-6 * Math.max(1, Math.abs(wanted[i]!)));
    const odd = Float32Array.of(Number.NaN, 1e4, -1e4, Infinity, 0, 3e38);
    const oddOut = bench.room(6);
    bench.kernels.gelu(bench.put(odd), oddOut, 6);
    const [none, high, low, infinite, zero, huge] = bench.read(oddOut, 6);
    expect([none, high, infinite, zero, huge]).toEqual([Number.NaN, 1e4, Infinity, 0, Math.fround(3e38)]);
    expect(Math.abs(low!)).toBeLessThan(1e-30);
  });
});

describe('the exponential', () => {
  it('keeps x·σ(x) to 2e-7 of its size where σ is almost all e^x, and elsewhere', () => {
    const f = 8001;
    const gateUp = new Float32Array(2 * f).fill(1);
    for (let i = 0; i < f; i++) gateUp[i] = (i - 6001.5) / 83;
    const [wanted, out] = [new Float64Array(f), bench.room(f)];
    swiglu(gateUp, wanted, { n: 1, f });
    bench.kernels.swiglu(bench.put(gateUp), out, 1, f);
    const errors = bench.read(out, f).map((value, i) => Math.abs(value / wanted[i]! - 1));
    expect(errors.every((error) => error < 2e-7)).toBe(true);
  });
});

describe('rotary', () => {
  const heads = 3;
  it.each(grid([2, 6, 16]))('N %i, Dh %i, and back', (n, headWidth) => {
    const rng = caseRng('rotary', n, headWidth);
    const count = n * 3 * heads * headWidth;
    const qkv = reals(rng, count);
    const { positions } = ragged(rng, n, 23);
    const table = bench.put(turns(23, headWidth));
    for (const direction of [1, -1] as const) {
      const wanted = Float64Array.from(qkv);
      rotary(wanted, positions, { n, heads, headWidth }, direction);
      const to = bench.put(qkv);
      bench.kernels.rotary(to, bench.put(positions), table, n, heads, headWidth, direction);
      expect(bench.error(to, wanted)).toBeLessThan(FORWARD);
    }
  });
});

describe('rows by id', () => {
  it.each(COUNTS)('gathers, scatters and adds %i rows', (n) => {
    const [d, v] = [12, 7];
    const rng = caseRng('rows', n);
    const ids = Int32Array.from({ length: n }, () => rng.int(v));
    const [embed, x] = [reals(rng, v * d), reals(rng, n * d)];
    const at = { ids: bench.put(ids), embed: bench.put(embed), x: bench.put(x) };
    const gathered = new Float64Array(n * d);
    embedGather(ids, embed, gathered, { n, d });
    const out = bench.room(n * d);
    bench.kernels.gatherRows(at.ids, at.embed, out, n, d);
    expect(bench.error(out, gathered)).toBe(0);
    const sums = Float64Array.from(embed);
    embedScatter(ids, x, sums, { n, d });
    const toSums = bench.put(embed);
    bench.kernels.addRows(at.ids, at.x, toSums, n, d);
    expect(bench.error(toSums, sums)).toBeLessThan(GRADIENT);
    const scattered = Float64Array.from(embed);
    for (const [i, id] of ids.entries()) scattered.set(x.subarray(i * d, i * d + d), id * d);
    const to = bench.put(embed);
    bench.kernels.scatterRows(at.ids, at.x, to, n, d);
    expect(bench.error(to, scattered)).toBe(0);
  });
});

describe('crossEntropy', () => {
  const d = 12;
  it.each(grid([1, 2, 31, 700]))('N %i, V %i, with its gradient', (n, v) => {
    const rng = caseRng('loss', n, v);
    const [hidden, embed, before] = [reals(rng, n * d), reals(rng, v * d), reals(rng, v * d)];
    const weights = Float32Array.from({ length: n }, () => 0.25 + rng.float());
    const targets = Int32Array.from({ length: n }, () => rng.int(v));
    const size = { n, d, v };
    const [nll, lse, dHidden] = [new Float64Array(n), new Float64Array(n), new Float64Array(n * d)];
    const dEmbed = Float64Array.from(before);
    crossEntropy(hidden, embed, targets, weights, nll, lse, size);
    if (n > 0) crossEntropyBackward(hidden, embed, targets, weights, lse, dHidden, dEmbed, size);
    const total = weights.reduce((sum, w) => sum + w, 0);
    const block = 8;
    const scratch = bench.room(block * (v + 3));
    const inputs = [bench.put(hidden), bench.put(embed), bench.put(targets), bench.put(weights)] as const;
    const out = { nll: bench.room(n), dHidden: bench.room(n * d), dEmbed: bench.put(before) };
    const sizes = [n, d, v, block, 1 / total] as const;
    bench.kernels.crossEntropy(...inputs, scratch, out.nll, out.dHidden, out.dEmbed, ...sizes);
    // With one token every nll is 0 and every gradient too: only rounding is left.
    const close = (got: Float32Array, wanted: Float64Array, bound: number) =>
      v === 1 && got !== undefined
        ? expect(Math.max(0, ...got.map((x, i) => Math.abs(x - wanted[i]!)))).toBeLessThan(1e-6)
        : expect(relativeError(got, wanted)).toBeLessThan(bound);
    close(bench.read(out.nll, n), nll, FORWARD);
    close(bench.read(out.dHidden, n * d), dHidden, GRADIENT);
    close(bench.read(out.dEmbed, v * d), dEmbed, GRADIENT);
    const asked = bench.room(n);
    bench.kernels.crossEntropy(...inputs, scratch, asked, 0, 0, ...sizes);
    expect([...bench.read(asked, n)]).toEqual([...bench.read(out.nll, n)]);
  });

  it('does not care for a constant added to the logits', () => {
    // Logits of about ±2000 overflow e^z; their differences decide.
    const hidden = Float32Array.of(1000, 0, 0, 0, -1000, 0, 0, 0);
    const embed = Float32Array.of(2, 0, 0, 0, 2.001, 0, 0, 0);
    const at = [bench.put(hidden), bench.put(embed), bench.put(Int32Array.of(0, 0))] as const;
    const nll = bench.room(2);
    bench.kernels.crossEntropy(...at, bench.room(2), bench.room(32), nll, 0, 0, 2, 4, 2, 4, 1);
    const [low, high] = bench.read(nll, 2);
    expect(low).toBeCloseTo(Math.log(1 + Math.exp(1)), 3);
    expect(high).toBeCloseTo(Math.log(1 + Math.exp(-1)), 3);
  });
});

describe('the optimiser', () => {
  it('has the norm of the whole gradient, and follows AdamW over three steps', () => {
    const shape = { vocab: 5, width: 8, layers: 1, heads: 2, hidden: 6, context: 4 };
    const { tensors, count } = layout(shape);
    const rng = caseRng('adamw');
    const start = reals(rng, count);
    const options = {
      learningRate: 0.01,
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0.1,
      clip: 0.5,
    };
    const state = {
      parameters: Float64Array.from(start),
      gradient: new Float64Array(count),
      moment1: new Float64Array(count),
      moment2: new Float64Array(count),
    };
    const zeros = new Float32Array(count);
    const at = { parameters: bench.put(start), moment1: bench.put(zeros), moment2: bench.put(zeros) };
    for (let step = 1; step <= 3; step++) {
      const gradient = reals(rng, count);
      state.gradient.set(gradient);
      const wanted = gradNorm(state.gradient);
      const g = bench.put(gradient);
      const norm = bench.kernels.norm(g, count);
      expect(Math.abs(norm / wanted - 1)).toBeLessThan(1e-12);
      adamw(state, tensors, options, step, wanted);
      const { learningRate, beta1, beta2, epsilon, weightDecay, clip } = options;
      for (const { offset, size, shape: dims } of tensors)
        bench.kernels.adamw(
          at.parameters + 4 * offset,
          g + 4 * offset,
          at.moment1 + 4 * offset,
          at.moment2 + 4 * offset,
          size,
          clip / norm,
          learningRate,
          beta1,
          beta2,
          1 - beta1,
          1 - beta2,
          1 / (1 - beta1 ** step),
          1 / (1 - beta2 ** step),
          epsilon,
          dims.length > 1 ? weightDecay : 0,
        );
    }
    for (const name of ['parameters', 'moment1', 'moment2'] as const)
      expect(bench.error(at[name], state[name])).toBeLessThan(FORWARD);
  });
});
