import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import { attention, attentionBackward } from '../../../src/policy/twin/attention.ts';
import { crossEntropy, crossEntropyBackward } from '../../../src/policy/twin/crossEntropy.ts';
import { embedGather, embedScatter } from '../../../src/policy/twin/embed.ts';
import { gelu, geluBackward } from '../../../src/policy/twin/gelu.ts';
import { matmulNn, matmulNt, matmulTn } from '../../../src/policy/twin/matmul.ts';
import { rmsNorm, rmsNormBackward } from '../../../src/policy/twin/norm.ts';
import { rotary } from '../../../src/policy/twin/rotary.ts';
import { dot, poisoned, raggedBatch, randomReals, worstDifference } from './differences.ts';

const LIMIT = 1e-6;
const cases = [1, 2, 3].map((seed) => {
  const rng = new Rng(seed).fork('backward');
  return { seed, rng, lengths: Array.from({ length: 3 + seed }, () => 1 + rng.int(5)) };
});

describe.each(cases)('gradients against central differences, seed $seed', ({ rng, lengths }) => {
  const vocab = 7;
  const batch = raggedBatch(rng, lengths, vocab);
  const n = batch.tokens.length;

  it('embedScatter', () => {
    const d = 4;
    const embed = randomReals(rng, vocab * d);
    const dx = randomReals(rng, n * d);
    const dEmbed = new Float64Array(vocab * d);
    embedScatter(batch.tokens, dx, dEmbed, { n, d });
    const x = poisoned(n * d);
    const value = () => {
      embedGather(batch.tokens, embed, x, { n, d });
      return dot(x, dx);
    };
    expect(worstDifference(embed, dEmbed, value)).toBeLessThan(LIMIT);
  });

  it('rmsNormBackward, dx and dg', () => {
    const d = 8;
    const x = randomReals(rng, n * d);
    const gain = randomReals(rng, d);
    const dy = randomReals(rng, n * d);
    const dx = poisoned(n * d);
    const dGain = new Float64Array(d);
    rmsNormBackward(x, gain, dy, dx, dGain, { n, d });
    const y = poisoned(n * d);
    const value = () => {
      rmsNorm(x, gain, y, { n, d });
      return dot(y, dy);
    };
    expect(worstDifference(x, dx, value, 1e-4)).toBeLessThan(LIMIT);
    expect(worstDifference(gain, dGain, value)).toBeLessThan(LIMIT);
  });

  it('rmsNormBackward adds where it accumulates', () => {
    const d = 4;
    const x = randomReals(rng, n * d);
    const gain = randomReals(rng, d);
    const dy = randomReals(rng, n * d);
    const once = poisoned(n * d);
    rmsNormBackward(x, gain, dy, once, new Float64Array(d), { n, d });
    const twice = once.slice();
    rmsNormBackward(x, gain, dy, twice, new Float64Array(d), { n, d }, true);
    expect(twice).toEqual(once.map((v) => v + v));
  });

  it('matmulNn and matmulTn are the gradients of matmulNt', () => {
    const size = { n, m: 6, k: 5 };
    const a = randomReals(rng, n * size.k);
    const b = randomReals(rng, size.m * size.k);
    const dc = randomReals(rng, n * size.m);
    const da = poisoned(a.length);
    const db = poisoned(b.length);
    matmulNn(dc, b, da, size);
    matmulTn(dc, a, db, size);
    const c = poisoned(n * size.m);
    const value = () => {
      matmulNt(a, b, c, size);
      return dot(c, dc);
    };
    expect(worstDifference(a, da, value)).toBeLessThan(LIMIT);
    expect(worstDifference(b, db, value)).toBeLessThan(LIMIT);
  });

  it('rotary by −p', () => {
    const size = { n, heads: 2, headWidth: 6 };
    const qkv = randomReals(rng, n * 36);
    const up = randomReals(rng, n * 36);
    const down = up.slice();
    rotary(down, batch.positions, size, -1);
    const value = () => {
      const turned = qkv.slice();
      rotary(turned, batch.positions, size);
      return dot(turned, up);
    };
    expect(worstDifference(qkv, down, value)).toBeLessThan(LIMIT);
  });

  it('attentionBackward', () => {
    const size = { n, heads: 2, headWidth: 4 };
    const qkv = randomReals(rng, n * 24);
    const up = randomReals(rng, n * 8);
    const o = poisoned(n * 8);
    const lse = poisoned(n * 2);
    const value = () => {
      attention(qkv, batch.starts, o, lse, size);
      return dot(o, up);
    };
    value();
    const dQkv = poisoned(n * 24);
    attentionBackward(qkv, batch.starts, o, lse, up, dQkv, size);
    expect(worstDifference(qkv, dQkv, value)).toBeLessThan(LIMIT);
  });

  it('geluBackward', () => {
    const count = 40;
    const x = randomReals(rng, count, 3);
    const up = randomReals(rng, count);
    const dx = poisoned(count);
    geluBackward(x, up, dx, count);
    const y = poisoned(count);
    const value = () => {
      gelu(x, y, count);
      return dot(y, up);
    };
    expect(worstDifference(x, dx, value)).toBeLessThan(LIMIT);
  });

  it('crossEntropyBackward, hidden and embedding', () => {
    const size = { n, d: 4, v: vocab };
    const hidden = randomReals(rng, n * 4);
    const embed = randomReals(rng, vocab * 4);
    const nll = poisoned(n);
    const lse = poisoned(n);
    const value = () => crossEntropy(hidden, embed, batch.targets, batch.weights, nll, lse, size);
    value();
    const dHidden = poisoned(n * 4);
    const dEmbed = new Float64Array(vocab * 4);
    crossEntropyBackward(hidden, embed, batch.targets, batch.weights, lse, dHidden, dEmbed, size);
    expect(worstDifference(hidden, dHidden, value)).toBeLessThan(LIMIT);
    expect(worstDifference(embed, dEmbed, value)).toBeLessThan(LIMIT);
  });
});
