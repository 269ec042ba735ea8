import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actionGrammar, type EpisodeRecord, rollouts } from '../../src/learn/rollout.ts';
import type { Grammar } from '../../src/policy/engine.ts';
import { checkGrammar, grammarStates, stateCount } from '../../src/policy/grammar.ts';
import { createCpuEngine } from '../../src/policy/twin/engine.ts';
import type { Task } from '../../src/task/model.ts';
import { desk } from '../../src/world/desk/index.ts';
import { makeTasks } from './desk.ts';

const { language } = desk;

describe('rollouts under a grammar of actions', () => {
  const grammar = actionGrammar(language);
  const shape = {
    vocab: language.vocabulary.length,
    width: 16,
    layers: 1,
    heads: 2,
    hidden: 16,
    context: 128,
  };
  const engine = createCpuEngine(shape);
  let tasks: Task[];
  beforeAll(() => {
    tasks = makeTasks('grammar', 12);
    engine.initialise(3);
  });
  afterAll(() => engine.destroy());

  async function play(options: { grammar?: Grammar; topP?: number }): Promise<EpisodeRecord[]> {
    const all: EpisodeRecord[] = [];
    const given = { parallel: 8, turns: 4, temperature: 1, seed: 4, ...options };
    for await (const group of rollouts(engine, desk, tasks, given)) all.push(...group);
    return all;
  }

  it('takes every action of the reference chains', () => {
    checkGrammar(grammar, language.vocabulary.length);
    expect(stateCount(grammar)).toBeLessThan(40);
    for (const task of tasks)
      for (const { tool, args } of task.chain) {
        const said = language.encodeAction({ kind: 'call', tool, args });
        expect(grammarStates(grammar, said)[0]).toBe(0);
      }
    grammarStates(grammar, language.encodeAction({ kind: 'done', answers: [] }));
  });

  it('never ends in something that is no action, though the policy knows nothing', async () => {
    const bound = await play({ grammar });
    const turns = bound.flatMap((record) => record.turns);
    expect(turns.length).toBeGreaterThan(tasks.length);
    expect(turns.every(({ action, malformed }) => action !== null && malformed === null)).toBe(true);
    for (const { tokens, logProbs } of turns) {
      expect(logProbs).toHaveLength(tokens.length);
      expect(logProbs.every((logProb) => logProb <= 0)).toBe(true);
      expect(tokens.at(-1)).toBe(language.end);
    }
    const free = await play({});
    expect(free.every((record) => record.end === 'malformed')).toBe(true);
  });

  it('narrows by top-p', async () => {
    const mean = (records: EpisodeRecord[]) => {
      const all = records.flatMap((record) => record.turns.flatMap(({ logProbs }) => logProbs));
      return all.reduce((sum, logProb) => sum + logProb, 0) / all.length;
    };
    expect(mean(await play({ grammar, topP: 0.1 }))).toBeGreaterThan(mean(await play({ grammar })) + 0.5);
  });
});
