import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hash53 } from '../../../src/base/hash.ts';
import { Rng } from '../../../src/base/rng.ts';
import { hashValue, Leaves } from '../../../src/task/graph/leaves.ts';
import { Counts, KeySet, Once } from '../../../src/task/graph/sketch.ts';

const MANY = 200_000;
const keyOf = (i: number) => hash53(`key ${i}`);

describe('counts in bounded memory', () => {
  it('are exact while keys are few', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { maxLength: 2000 }), (drawn) => {
        const counts = new Counts();
        const seen = new Map<number, number>();
        for (const i of drawn) {
          counts.add(keyOf(i));
          seen.set(i, (seen.get(i) ?? 0) + 1);
        }
        for (let i = 0; i <= 300; i++) expect(counts.get(keyOf(i))).toBe(seen.get(i) ?? 0);
      }),
      { numRuns: 30 },
    );
  });

  it('lose none beyond, are seldom wrong, and do not depend on order', () => {
    const order = new Rng(7).shuffle(Array.from({ length: MANY }, (_, i) => i));
    const a = new Counts(1000);
    const b = new Counts(1000);
    for (let i = 0; i < MANY; i++) a.add(keyOf(i), (i % 3) + 1);
    for (const i of order) b.add(keyOf(i), (i % 3) + 1);
    let high = 0;
    let different = 0;
    let low = 0;
    for (let i = 0; i < MANY; i++) {
      const got = a.get(keyOf(i));
      if (got < (i % 3) + 1) low++;
      if (got > (i % 3) + 1) high++;
      if (got !== b.get(keyOf(i))) different++;
    }
    expect([low, different]).toEqual([0, 0]);
    expect(high).toBeLessThan(MANY / 100);
  });
});

describe('a set in bounded memory', () => {
  it('never loses a member, and hardly ever takes a stranger for one', () => {
    const set = new KeySet(1000);
    for (let i = 0; i < MANY; i++) set.add(keyOf(i));
    let lost = 0;
    let strangers = 0;
    for (let i = 0; i < MANY; i++) {
      if (!set.has(keyOf(i))) lost++;
      if (set.has(keyOf(i + MANY))) strangers++;
    }
    expect(lost).toBe(0);
    expect(strangers).toBeLessThan(20);
  });

  it('that is emptied often forgets', () => {
    const once = new Once();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 1000; i++) expect(once.first(keyOf(i))).toBe(true);
      for (let i = 0; i < 1000; i++) expect(once.first(keyOf(i))).toBe(false);
      once.clear();
    }
  });
});

describe('leaves', () => {
  it('of different types have different hashes; both zeros are one', () => {
    expect(hashValue('12345')).not.toBe(hashValue(12345));
    expect(hashValue(-0)).toBe(hashValue(0));
    const numbers = new Set(Array.from({ length: 20_000 }, (_, i) => hashValue(i * 0.37)));
    expect(numbers.size).toBe(20_000);
  });

  it('know their paths and fields', () => {
    const leaves = new Leaves().fill({
      a: [{ 'b.c': 'x' }],
      '': 'y',
      '912345': { id: 1 },
      none: null,
      empty: {},
    });
    const all = Array.from({ length: leaves.count }, (_, i) => [
      leaves.path(i),
      leaves.pattern(i, 0),
      leaves.field(i),
      leaves.around(i),
    ]);
    expect(all.sort()).toEqual(
      [
        ['a[0]["b.c"]', 'a[*]["b.c"]', 'b.c', 'a'],
        ['[""]', '[""]', '', ''],
        ['912345.id', '[*].id', 'id', ''],
      ].sort(),
    );
    expect(new Leaves().fill('text').path(0)).toBe('');
    expect(new Leaves().fill(undefined).count).toBe(0);
  });
});
