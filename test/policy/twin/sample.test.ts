import { describe, expect, it } from 'vitest';
import { counterBits, counterUniform } from '../../../src/policy/twin/counter.ts';
import { sample } from '../../../src/policy/twin/sample.ts';

describe('counter-based bits', () => {
  /** The same hash in exact whole numbers, reduced modulo 2³² after each operation. */
  const exact = (seed: number, rollout: number, position: number) => {
    const mod = (x: bigint) => x & 0xffffffffn;
    const lcg = (x: number) => mod(BigInt(x >>> 0) * 1664525n + 1013904223n);
    let [x, y, z] = [lcg(seed), lcg(rollout), lcg(position)];
    x = mod(x + y * z);
    y = mod(y + z * x);
    z = mod(z + x * y);
    [x, y, z] = [x ^ (x >> 16n), y ^ (y >> 16n), z ^ (z >> 16n)];
    return Number(mod(x + y * z));
  };

  it('are the pcg3d hash modulo 2³², for large and negative keys too', () => {
    const keys: [number, number, number][] = [
      [0, 0, 0],
      [1, 2, 3],
      [4294967295, 65535, 2048],
      [-7, 0, 1],
      [123456789, 4095, 511],
    ];
    for (const key of keys) expect(counterBits(...key)).toBe(exact(...key));
  });

  it('are uniform over 64 bins along each key (χ² below the 99.99 % point for 63 degrees)', () => {
    const along = {
      seed: (i: number) => counterUniform(i, 3, 5),
      rollout: (i: number) => counterUniform(42, i, 5),
      position: (i: number) => counterUniform(42, 3, i),
    };
    for (const [name, draw] of Object.entries(along)) {
      const bins = new Array<number>(64).fill(0);
      const count = 64 * 500;
      for (let i = 0; i < count; i++) {
        const u = draw(i);
        expect(u >= 0 && u < 1).toBe(true);
        const bin = Math.floor(u * 64);
        bins[bin] = (bins[bin] as number) + 1;
      }
      const chi = bins.reduce((sum, b) => sum + (b - 500) ** 2 / 500, 0);
      expect(chi, name).toBeLessThan(112);
    }
  });

  it('of neighbouring keys are uncorrelated (|r| below 5 standard errors)', () => {
    const count = 20000;
    const step = (di: number, dj: number, dk: number) => {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const key = [i % 7, i % 97, i] as const;
        sum += (counterUniform(...key) - 0.5) * (counterUniform(key[0] + di, key[1] + dj, key[2] + dk) - 0.5);
      }
      return (12 * sum) / count;
    };
    for (const [di, dj, dk] of [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ] as const)
      expect(Math.abs(step(di, dj, dk))).toBeLessThan(5 / Math.sqrt(count));
  });
});

describe('sample', () => {
  const key = { seed: 1, rollout: 2, position: 3 };

  it('at temperature 0 takes the largest logit of its row, the lowest id on a tie', () => {
    const logits = Float64Array.of(9, 9, 9, 1, 5, 5, 0);
    expect(sample(logits, 3, 4, { temperature: 0 }, key)).toEqual({ token: 1, logProb: 0 });
  });

  it('draws with the probabilities of softmax(logits / T)', () => {
    const logits = Float64Array.of(0, 1, -30, 2, 0.5);
    for (const temperature of [0.5, 1, 2]) {
      const weights = [...logits].map((l) => Math.exp(l / temperature));
      const total = weights.reduce((a, b) => a + b, 0);
      const counts = new Array<number>(5).fill(0);
      const draws = 20000;
      for (let position = 0; position < draws; position++) {
        const place = { seed: 7, rollout: 1, position };
        const { token, logProb } = sample(logits, 0, 5, { temperature }, place);
        counts[token] = (counts[token] as number) + 1;
        expect(logProb).toBeCloseTo(Math.log((weights[token] as number) / total), 12);
      }
      for (const [id, count] of counts.entries()) {
        const p = (weights[id] as number) / total;
        expect(Math.abs(count / draws - p)).toBeLessThan(5 * Math.sqrt(p / draws) + 1e-4);
      }
    }
  });

  it('is the inverse CDF in id order at the counter’s number', () => {
    const logits = new Float64Array(10);
    for (let position = 0; position < 50; position++)
      expect(sample(logits, 0, 10, { temperature: 1 }, { ...key, position }).token).toBe(
        Math.floor(counterUniform(1, 2, position) * 10),
      );
  });
});
