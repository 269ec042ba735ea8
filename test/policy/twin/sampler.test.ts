import { beforeAll, describe, expect, it } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import { pack } from '../../../src/policy/batch.ts';
import type { SampledTurn } from '../../../src/policy/engine.ts';
import { createCpuEngine } from '../../../src/policy/twin/engine.ts';
import { sample } from '../../../src/policy/twin/sample.ts';
import { copyBatch, smallShape, stepOptions } from './copyTask.ts';

const engine = createCpuEngine({ ...smallShape, context: 200 });
beforeAll(() => {
  engine.initialise(2);
  const rng = new Rng('sampler');
  // Enough for logits that differ between contexts, by far more than the rounding.
  for (let step = 0; step < 60; step++) engine.train(copyBatch(rng, 8), stepOptions);
});

/** What the model would sample after `tokens`, from teacher-forced logits of the whole sequence. */
async function forced(tokens: number[], temperature: number, seed: number, rollout: number) {
  const logits = await engine.logits(pack([{ tokens, weights: tokens.map(() => 0) }]));
  const key = { seed, rollout, position: tokens.length };
  return sample(logits, (tokens.length - 1) * 11, 11, { temperature }, key).token;
}

describe('the sampler', () => {
  it.each([0, 1, 0.7])(
    'samples from the teacher-forced logits over several turns, temperature %d',
    async (temperature) => {
      const sampler = engine.sampler(3);
      const options = { stop: 10, limit: 5, temperature, seed: 77 };
      const held: number[][] = [[], [], []];
      const turns: (number[] | null)[][] = [
        [[1, 2, 3], null, [4]],
        [[5], [10, 7, 7, 1], null],
        [[], [2], [10, 3]],
      ];
      for (const inputs of turns) {
        const sampled = await sampler.turn(inputs, options);
        for (const [rollout, input] of inputs.entries()) {
          if (input === null) {
            expect(sampled[rollout]).toEqual({ tokens: [], logProbs: [] });
            continue;
          }
          const history = held[rollout] as number[];
          history.push(...input);
          const { tokens } = sampled[rollout] as SampledTurn;
          expect(tokens.length).toBeGreaterThan(0);
          for (const token of tokens) {
            expect(token).toBe(await forced(history, temperature, 77, rollout));
            history.push(token);
          }
          const stopped = tokens.indexOf(10);
          expect(stopped === -1 ? tokens.length : stopped + 1).toBe(stopped === -1 ? 5 : tokens.length);
        }
      }
    },
  );

  it('does not depend on the other rollouts', async () => {
    const options = { stop: 10, limit: 20, temperature: 1, seed: 5 };
    const crowd = await engine.sampler(4).turn([[1], [2, 3], [4, 5, 6], [7]], options);
    const lone = await engine.sampler(4).turn([null, null, [4, 5, 6], null], options);
    expect(lone[2]).toEqual(crowd[2]);
  });

  it('takes prompts longer than a run of rows', async () => {
    const rng = new Rng(8);
    const prompts = [150, 3, 140].map((length) => Array.from({ length }, () => rng.int(11)));
    const sampled = await engine.sampler(3).turn(prompts, { stop: -1, limit: 1, temperature: 0, seed: 0 });
    for (const [rollout, prompt] of prompts.entries())
      expect(sampled[rollout]?.tokens).toEqual([await forced(prompt, 0, 0, rollout)]);
  });

  it('forgets on reset', async () => {
    const sampler = engine.sampler(1);
    const options = { stop: -1, limit: 6, temperature: 1, seed: 3 };
    const first = await sampler.turn([[1, 2]], options);
    const second = await sampler.turn([[1, 2]], options);
    sampler.reset();
    expect(await sampler.turn([[1, 2]], options)).toEqual(first);
    expect(second).not.toEqual(first);
  });

  it('only appends at limit 0', async () => {
    const sampler = engine.sampler(1);
    const options = { stop: -1, temperature: 0, seed: 3 };
    expect(await sampler.turn([[1, 2]], { ...options, limit: 0 })).toEqual([{ tokens: [], logProbs: [] }]);
    const [said] = await sampler.turn([[]], { ...options, limit: 1 });
    expect(said).toEqual({ tokens: [await forced([1, 2], 0, 3, 0)], logProbs: [0] });
  });

  it('refuses what does not fit, before anything enters the cache', async () => {
    const options = { stop: -1, limit: 10, temperature: 0, seed: 3 };
    const sampler = engine.sampler(2);
    const long = new Array<number>(191).fill(1);
    await expect(sampler.turn([[1], long], options)).rejects.toThrow(/reach 201 tokens/);
    await expect(sampler.turn([[1], [11]], options)).rejects.toThrow(LabError);
    await expect(sampler.turn([[1], []], options)).rejects.toThrow(/nothing to continue/);
    await expect(sampler.turn([[1]], options)).rejects.toThrow(/1 inputs for 2/);
    await expect(sampler.turn([[1], null], { ...options, temperature: -1 })).rejects.toThrow(LabError);
    await expect(sampler.turn([[1], null], { ...options, limit: 0.5 })).rejects.toThrow(LabError);
    expect(() => engine.sampler(0)).toThrow(LabError);
    const fresh = await engine.sampler(2).turn([[1], null], options);
    expect(await sampler.turn([[1], null], options)).toEqual(fresh);
    sampler.destroy();
    await expect(sampler.turn([[1], null], options)).rejects.toThrow(/destroyed/);
  });
});
