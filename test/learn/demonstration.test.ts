import { describe, expect, it } from 'vitest';
import { demonstration } from '../../src/learn/demonstration.ts';
import { desk } from '../../src/world/desk/index.ts';
import { makeTasks } from './desk.ts';

const { language } = desk;
const tasks = makeTasks('demonstration', 60);

describe('demonstration', () => {
  it('supervises exactly what the agent says', () => {
    for (const task of tasks) {
      const { tokens, weights } = demonstration(task, language);
      expect(weights).toHaveLength(tokens.length);
      // The supervised tokens, cut at each end of an action, are the chain and then `done` with its answers.
      const said = tokens.filter((_, i) => i > 0 && weights[i - 1] === 1);
      const actions: number[][] = [[]];
      for (const token of said) {
        actions.at(-1)?.push(token);
        if (token === language.end) actions.push([]);
      }
      expect(actions.pop()).toEqual([]);
      const parsed = actions.map((action) => language.parseAction(action));
      expect(parsed).toEqual([
        ...task.chain.map(({ tool, args }) => ({ ok: true, action: { kind: 'call', tool, args } })),
        { ok: true, action: { kind: 'done', answers: task.assertions.out.map(({ value }) => value) } },
      ]);
    }
  });

  it('begins with the request, none of which is supervised', () => {
    for (const task of tasks) {
      const { tokens, weights } = demonstration(task, language);
      const request = language.encodeRequest(task.request);
      expect(tokens.slice(0, request.length)).toEqual(request);
      expect(weights.slice(0, request.length - 1).every((weight) => weight === 0)).toBe(true);
      expect(weights[request.length - 1]).toBe(1);
      expect(weights.at(-1)).toBe(0);
    }
  });
});
