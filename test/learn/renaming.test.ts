import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/base/rng.ts';
import { demonstration } from '../../src/learn/demonstration.ts';
import { rename } from '../../src/learn/renaming.ts';
import { desk } from '../../src/world/desk/index.ts';
import { makeTasks } from './desk.ts';

const { language } = desk;
const shown = makeTasks('renaming', 40).map((task) => demonstration(task, language));

describe('rename', () => {
  it('changes names inside their pool, one for one, and nothing else', () => {
    const pools = language.names.map((pool) => new Set(pool));
    const poolOf = (token: number) => pools.findIndex((pool) => pool.has(token));
    let changed = 0;
    for (const [k, sequence] of shown.entries()) {
      const { tokens, weights } = rename(sequence, language.names, new Rng(k));
      expect(weights).toEqual(sequence.weights);
      const to = new Map<number, number>();
      const from = new Map<number, number>();
      sequence.tokens.forEach((token, i) => {
        const other = tokens[i]!;
        expect(poolOf(other)).toBe(poolOf(token));
        if (poolOf(token) < 0) expect(other).toBe(token);
        else if (other !== token) changed++;
        expect(to.get(token) ?? other).toBe(other);
        expect(from.get(other) ?? token).toBe(token);
        to.set(token, other);
        from.set(other, token);
      });
    }
    expect(changed).toBeGreaterThan(100);
  });

  it('still reads as actions of the language', () => {
    for (const [k, sequence] of shown.entries()) {
      const { tokens, weights } = rename(sequence, language.names, new Rng(k));
      const actions: number[][] = [[]];
      tokens.forEach((token, i) => {
        if (i === 0 || weights[i - 1] !== 1) return;
        actions.at(-1)?.push(token);
        if (token === language.end) actions.push([]);
      });
      actions.pop();
      for (const action of actions) expect(language.parseAction(action).ok).toBe(true);
    }
  });

  it('depends on the draw alone, and is the sequence itself where nothing is a name', () => {
    expect(rename(shown[0]!, language.names, new Rng(5))).toEqual(
      rename(shown[0]!, language.names, new Rng(5)),
    );
    expect(rename(shown[0]!, [], new Rng(5))).toEqual(shown[0]);
  });
});
