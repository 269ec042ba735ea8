import { beforeAll, describe, expect, test } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import type { ChainCall, Task } from '../../../src/task/model.ts';
import { synthesise } from '../../../src/task/synthesis/synthesise.ts';
import { grade } from '../../../src/task/verify/grade.ts';
import { replay } from '../../../src/task/verify/replay.ts';
import { registerWorld } from '../../../src/task/verify/worlds.ts';
import type { WorldDefinition } from '../../../src/world/kit.ts';
import { SHOP_ARROWS, shop, shopGraph } from '../walk/shop.ts';
import { mutants } from './mutations.ts';

const tasks: Task[] = [];
beforeAll(() => {
  const options = {
    seed: 'verify',
    tasks: 150,
    walk: { length: [1, 5] as [number, number] },
    maxWalks: 20_000,
  };
  const graph = shopGraph([
    ...SHOP_ARROWS,
    [2, 0, 'state', 'args.item', 'item', 5],
    [2, 2, 'state', 'args.item', 'item', 3],
  ]);
  for (const event of synthesise(shop, graph, options)) if (event.type === 'task') tasks.push(event.task);
});

const attempts = (chain: readonly ChainCall[]) => chain.map(({ tool, args }) => ({ tool, args }));
const answersOf = (task: Task) => task.assertions.out.map(({ value }) => value);
const withOrder = () => tasks.filter(({ chain }) => chain.some(({ tool }) => tool === 'place_order'));

describe('replay', () => {
  test('passes every task as it was made', () => {
    expect(tasks.length).toBe(150);
    for (const task of tasks) expect(replay(task)).toEqual({ task: task.id, passed: true, failures: [] });
  });

  test('rejects every chain with a call dropped, an argument changed or two calls swapped', () => {
    let tried = 0;
    for (const task of tasks) {
      for (const { how, task: mutant } of mutants(task)) {
        const { passed, failures } = replay(mutant);
        tried++;
        expect(passed, `${task.shape}: ${how}`).toBe(false);
        expect(failures.length).toBeGreaterThan(0);
      }
    }
    expect(tried).toBeGreaterThan(1000);
  });

  test('rejects a recorded output, an assertion or an origin that was tampered with', () => {
    const task = withOrder().find(({ chain }) => chain.length >= 3) as Task;
    const [first, ...rest] = task.chain as [ChainCall, ...ChainCall[]];
    const lie: ChainCall = { ...first, observation: { ok: true, value: { id: 'nothing' } } };
    expect(replay({ ...task, chain: [lie, ...rest] }).passed).toBe(false);
    const { state, trace } = task.assertions;
    expect(
      replay({ ...task, assertions: { ...task.assertions, state: state.slice(1) } }).failures[0],
    ).toMatch(/nothing asked for it/);
    expect(replay({ ...task, assertions: { ...task.assertions, trace: trace.slice(1) } }).passed).toBe(false);
    const nowhere = task.chain.map((call) => ({ ...call, provenance: {} }));
    expect(replay({ ...task, chain: nowhere }).failures[0]).toMatch(/comes from nowhere/);
  });

  test('tells a broken or unready environment from a wrong chain', () => {
    const task = tasks[0] as Task;
    const noisy: WorldDefinition = {
      ...shop,
      id: 'noisy-shop',
      create: (seed) => shop.create(seed, { read: 1, write: 1 }),
    };
    registerWorld(noisy);
    expect(replay({ ...task, world: noisy.id })).toMatchObject({ passed: false, fault: 'environment' });
    expect(grade({ ...task, world: noisy.id }, attempts(task.chain), answersOf(task)).fault).toBe(
      'environment',
    );
    expect(replay({ ...task, chain: task.chain.slice(1) }).fault).toBe('agent');
    expect(() => replay({ ...task, world: 'atlantis' })).toThrow(LabError);
  });
});

describe('grade', () => {
  test('passes the reference, and the reference with more reads and refused calls among it', () => {
    for (const task of tasks) {
      expect(grade(task, attempts(task.chain), answersOf(task))).toMatchObject({
        passed: true,
        failures: [],
      });
      const more = attempts(task.chain).flatMap((call) => [
        { tool: 'get_item', args: { item: 'cup' } },
        { tool: 'get_item', args: { item: 'nobody' } },
        call,
      ]);
      expect(grade(task, more, answersOf(task)).passed).toBe(true);
    }
  });

  test('passes writes on different objects in either order, though the world numbers its objects', () => {
    let tried = 0;
    for (const task of tasks) {
      const orders = task.chain.filter(({ tool }) => tool === 'place_order');
      if (orders.length < 2 || task.assertions.out.length > 0) continue;
      const writes = task.chain.filter(({ tool }) => tool === 'place_order' || tool === 'paint');
      expect(grade(task, attempts(writes).reverse(), []).passed).toBe(true);
      tried++;
    }
    expect(tried).toBeGreaterThan(3);
  });

  test('rejects a missing, an extra, a doubled and an undone write, and names the object', () => {
    for (const task of tasks) {
      const calls = attempts(task.chain);
      const at = calls.findIndex(({ tool }) => tool === 'place_order');
      const given = answersOf(task);
      const order = { tool: 'place_order', args: { item: 'pan', city: 'Nowhere' } };
      const extra = grade(task, [...calls, order], given);
      expect(extra.passed).toBe(false);
      expect(extra.failures.join()).toMatch(/order o\d changed and nothing asked for it/);
      const colour = shop.create(task.worldSeed).object('item', 'jar')?.colour;
      const paint = (to: string) => ({ tool: 'paint', args: { item: 'jar', colour: to } });
      const undone = [paint(colour === 'red' ? 'blue' : 'red'), paint(String(colour))];
      if (!calls.some(({ tool, args }) => tool === 'paint' && args.item === 'jar')) {
        expect(grade(task, [...calls, ...undone], given).failures.join()).toMatch(/item jar/);
      }
      if (at < 0) continue;
      expect(grade(task, calls.toSpliced(at, 1), given).passed).toBe(false);
      expect(grade(task, [...calls, calls[at] as (typeof calls)[0]], given).passed).toBe(false);
      const wrong = { ...(calls[at] as (typeof calls)[0]) };
      wrong.args = { ...wrong.args, city: 'Nowhere' };
      expect(grade(task, calls.with(at, wrong), given).passed).toBe(false);
    }
  });

  test('rejects wrong, missing and unasked answers', () => {
    for (const task of tasks) {
      const calls = attempts(task.chain);
      const given = answersOf(task);
      expect(grade(task, calls, [...given, 'Oslo']).failures[0]).toMatch(/was not asked for/);
      if (given.length === 0) continue;
      expect(grade(task, calls, []).failures[0]).toMatch(/is missing/);
      expect(grade(task, calls, ['nonsense']).failures[0]).toMatch(/should be .* and is "nonsense"/);
    }
    expect(tasks.some(({ assertions }) => assertions.out.length > 0)).toBe(true);
  });
});
