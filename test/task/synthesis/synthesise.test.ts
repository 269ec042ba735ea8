import { describe, expect, test } from 'vitest';
import { LabError } from '../../../src/base/errors.ts';
import { Rng } from '../../../src/base/rng.ts';
import type { ChainCall, Task } from '../../../src/task/model.ts';
import { dedupe, splitTasks, taskSetHash } from '../../../src/task/synthesis/dataset.ts';
import { requestShape, taskId } from '../../../src/task/synthesis/identity.ts';
import { orderedWrites } from '../../../src/task/synthesis/order.ts';
import { phrase } from '../../../src/task/synthesis/phrase.ts';
import { type SynthesisOptions, synthesise } from '../../../src/task/synthesis/synthesise.ts';
import { openBench } from '../../../src/task/verify/worlds.ts';
import type { Goal, Ref, Root } from '../../../src/world/request.ts';
import { SHOP_ARROWS, shop, shopGraph } from '../walk/shop.ts';

const graph = shopGraph(SHOP_ARROWS);

function make(options: Partial<SynthesisOptions> = {}): Task[] {
  const tasks: Task[] = [];
  for (const event of synthesise(shop, graph, {
    seed: 7,
    tasks: 120,
    walk: { length: [2, 4] },
    ...options,
  })) {
    if (event.type === 'task') tasks.push(event.task);
  }
  return tasks;
}
const tasks = make();
const refsOf = (goal: Goal): Ref[] => (goal.kind === 'tell' ? [goal.what] : Object.values(goal.args));
const has = (value: string) => (task: Task) => task.chain.some(({ tool }) => tool === value);

test('equal seeds give equal tasks, other seeds others', () => {
  expect(make()).toEqual(tasks);
  expect(taskSetHash(make({ seed: 8 }))).not.toBe(taskSetHash(tasks));
});

test('noise while walking changes which tasks come, never what a task records', () => {
  for (const task of make({ noise: { read: 0.2, write: 0.5 } })) {
    const world = shop.create(task.worldSeed);
    for (const { tool, args, observation } of task.chain) expect(world.call(tool, args)).toEqual(observation);
  }
});

test('what a request says means in s0 exactly what the chain uses', () => {
  for (const { worldSeed, request, chain, assertions } of tasks) {
    const { objects } = openBench(shop, worldSeed);
    const writes = chain.filter(({ tool }) => tool === 'place_order' || tool === 'paint');
    request.goals
      .filter((goal) => goal.kind === 'do')
      .forEach((goal, k) => {
        for (const [name, ref] of Object.entries(goal.args))
          expect(objects.resolve(ref)).toEqual(writes[k]?.args[name]);
      });
    for (const { what, value } of assertions.out) expect(objects.resolve(what)).toEqual(value);
  }
});

test('paths of a reference are composed over several reads', () => {
  expect(tasks.some(({ shape }) => shape.includes('#1.maker.city'))).toBe(true);
});

test('a description fits one object alone, and is used for some of the objects found in a list', () => {
  const described = tasks.filter(({ request }) =>
    request.goals.flatMap(refsOf).some(({ root }) => 'the' in root),
  );
  expect(described.length).toBeGreaterThan(0);
  for (const task of described) expect(has('list_items')(task)).toBe(true);
  const effects = make({ descriptions: 0 }).flatMap(({ request }) =>
    request.goals.filter(({ kind }) => kind === 'do'),
  );
  expect(effects.flatMap(refsOf).filter(({ root, path }) => 'the' in root && path.length === 0)).toEqual([]);
});

test('no task holds a call that its goals do not need', () => {
  for (const { chain, assertions } of tasks) {
    const used = new Set(
      chain.flatMap(({ provenance }) =>
        Object.values(provenance).flatMap((origin) => (origin.from === 'observation' ? [origin.call] : [])),
      ),
    );
    const idle = chain.filter(({ tool }, i) => !used.has(i) && tool !== 'place_order' && tool !== 'paint');
    expect(idle.length).toBe(assertions.out.length);
  }
});

test('every task comes once, and its id does not depend on its seed', () => {
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(tasks.length);
  const task = tasks[0] as Task;
  expect(taskId({ ...task, worldSeed: 'other' } as Task)).toBe(task.id);
  expect(taskId({ ...task, request: { goals: [] } })).not.toBe(task.id);
});

test('a shape keeps the form of a request and forgets its objects', () => {
  const ref = (id: string, ...path: string[]): Ref => ({ root: { id }, path });
  const place = (item: string, of: string): Goal => ({
    kind: 'do',
    intent: 'place_order',
    args: { item: ref(item), city: ref(of, 'maker', 'city') },
  });
  expect(requestShape({ goals: [place('cup', 'cup')] })).toBe(requestShape({ goals: [place('pot', 'pot')] }));
  expect(requestShape({ goals: [place('cup', 'cup')] })).not.toBe(
    requestShape({ goals: [place('cup', 'pot')] }),
  );
  expect(requestShape({ goals: [place('cup', 'pot')] })).toBe('place_order(city=#1.maker.city, item=#2)');
});

test('order matters where a write stands on another or changes what is said, not where both go their own way', () => {
  const bench = openBench(shop, 'order');
  const ref = (root: Root, ...path: string[]): Ref => ({ root, path });
  const place = (item: string, maker: Ref = ref({ id: 'Oslo' })): Goal => ({
    kind: 'do',
    intent: 'place_order',
    args: { item: ref({ id: item }), city: maker },
  });
  const paint = (item: Ref, colour: string): Goal => ({
    kind: 'do',
    intent: 'paint',
    args: { item, colour: ref({ id: colour }) },
  });
  const orderOf = (goals: Goal[]) => {
    const chain = goals.flatMap((goal) => {
      if (goal.kind === 'tell') return [];
      const args = Object.entries(goal.args).map(([name, said]) => [
        name,
        bench.objects.resolve(said) ?? null,
      ]);
      return [{ tool: goal.intent, args: Object.fromEntries(args) } as ChainCall];
    });
    return orderedWrites(bench, chain, { goals });
  };
  expect(orderOf([place('cup'), place('jar')])).toEqual([]);
  const pot = ref({ id: 'pot' });
  expect(orderOf([paint(pot, 'red'), place('cup'), paint(pot, 'blue')])).toEqual([[0, 2]]);
  const colour = String(bench.world.object('item', 'pot')?.colour);
  const fitting = bench.objects.matching('item', { colour });
  const [only, other] = fitting.length === 1 ? [colour, 'pan'] : [colour === 'red' ? 'blue' : 'red', 'pot'];
  const described = ref({ the: 'item', where: { colour: only } });
  expect(bench.objects.resolve(described)).toBeDefined();
  const goals = [
    { ...place('cup'), args: { item: described, city: ref({ id: 'Oslo' }) } },
    paint(ref({ id: other }), only),
  ];
  expect(orderOf(goals as Goal[])).toEqual([[0, 1]]);
});

describe('phrase', () => {
  test('names no tool and says every root that is written', () => {
    for (const { text, request } of tasks) {
      for (const { name } of shop.tools.filter(({ name }) => name !== 'paint'))
        expect(text).not.toContain(name);
      for (const { root } of request.goals.flatMap(refsOf)) {
        for (const value of 'id' in root ? [root.id] : Object.values(root.where))
          expect(text).toContain(String(value));
      }
      expect(text).toMatch(/^[A-Z].*[.?]$/);
    }
  });

  test('varies with the stream, and is fixed by it', () => {
    const { request } = tasks.find(({ shape }) => shape.includes('#1.maker.city')) as Task;
    const say = (seed: number) => phrase(request, shop.lexicon, new Rng(seed));
    expect(new Set(Array.from({ length: 40 }, (_, seed) => say(seed))).size).toBeGreaterThan(3);
    expect(say(3)).toBe(say(3));
  });

  test('says "then" where order matters and only there', () => {
    const goal = (item: string): Goal => ({
      kind: 'do',
      intent: 'paint',
      args: { item: { root: { id: item }, path: [] }, colour: { root: { id: 'red' }, path: [] } },
    });
    const request = { goals: [goal('cup'), goal('pot')] };
    for (let seed = 0; seed < 20; seed++) {
      expect(phrase(request, shop.lexicon, new Rng(seed))).not.toContain('then');
      expect(phrase(request, shop.lexicon, new Rng(seed), [[0, 1]])).toContain(', then colour pot red');
    }
  });

  test('refuses an intent for which the lexicon has no words', () => {
    const request = { goals: [{ kind: 'do' as const, intent: 'burn', args: {} }] };
    expect(() => phrase(request, shop.lexicon, new Rng(1))).toThrow(LabError);
  });
});

describe('splitting', () => {
  const { train, heldOut } = splitTasks(tasks, { tasks: 60, heldOut: 20, seed: 1 });

  test('shares no task and no world', () => {
    expect([train.length, heldOut.length]).toEqual([60, 20]);
    const worlds = new Set(train.map(({ worldSeed }) => worldSeed));
    const ids = new Set(train.map(({ id }) => id));
    expect(heldOut.filter(({ worldSeed, id }) => worlds.has(worldSeed) || ids.has(id))).toEqual([]);
  });

  test('shrinks in proportion where there are too few tasks, duplicates not counted', () => {
    const small = splitTasks([...tasks, ...tasks], { tasks: 900, heldOut: 100, seed: 1 });
    expect(small.heldOut.length).toBe(12);
    expect(small.train.length).toBeGreaterThan(90);
    expect(dedupe([...tasks, ...tasks])).toEqual(tasks);
  });

  test('refuses what cannot be split', () => {
    expect(() => splitTasks(tasks, { tasks: -1, heldOut: 1, seed: 1 })).toThrow(LabError);
    const one = tasks.filter(({ worldSeed }) => worldSeed === tasks[0]?.worldSeed);
    expect(() =>
      splitTasks([...one, { ...one[0], id: 'x' } as Task], { tasks: 1, heldOut: 1, seed: 1 }),
    ).toThrow(/one world/);
  });
});

test('the name of a set of tasks does not depend on order or repetition', () => {
  expect(taskSetHash([...tasks].reverse())).toBe(taskSetHash(tasks));
  expect(taskSetHash([...tasks, tasks[0] as Task])).toBe(taskSetHash(tasks));
  expect(taskSetHash(tasks.slice(1))).not.toBe(taskSetHash(tasks));
});

test('options and graphs that make no sense are refused', () => {
  const run = (options: object, nodes = graph.nodes) => [
    ...synthesise(shop, { ...graph, nodes }, { seed: 1, tasks: 1, ...options }),
  ];
  expect(() => run({ tasks: 1.5 })).toThrow(LabError);
  expect(() => run({ descriptions: 2 })).toThrow(/share/);
  expect(() => run({}, [])).toThrow(/no tool of the world/);
});
