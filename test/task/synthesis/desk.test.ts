import { beforeAll, expect, test } from 'vitest';
import { GraphMiner } from '../../../src/task/graph/miner.ts';
import type { ChainCall, Task } from '../../../src/task/model.ts';
import { splitTasks } from '../../../src/task/synthesis/dataset.ts';
import { type Synthesis, synthesise } from '../../../src/task/synthesis/synthesise.ts';
import { grade } from '../../../src/task/verify/grade.ts';
import { replay } from '../../../src/task/verify/replay.ts';
import { desk } from '../../../src/world/desk/index.ts';
import { mutants } from '../verify/mutations.ts';

const TASKS = 300;
const tasks: Task[] = [];
let counts: Synthesis;

beforeAll(() => {
  const miner = new GraphMiner({});
  for (const trajectory of desk.corpus({ seed: 3, trajectories: 800, noviceShare: 0.3 }))
    miner.add(trajectory);
  const noise = { read: 0.02, write: 0.2 };
  const events = synthesise(desk, miner.finish(), { seed: 'desk', tasks: TASKS, noise });
  let next = events.next();
  for (; !next.done; next = events.next()) if (next.value.type === 'task') tasks.push(next.value.task);
  counts = next.value;
});

const attempts = (chain: readonly ChainCall[]) => chain.map(({ tool, args }) => ({ tool, args }));
const answersOf = (task: Task) => task.assertions.out.map(({ value }) => value);

test('traces of the desk become tasks, one for every few walks', () => {
  expect(tasks.length).toBe(TASKS);
  expect(counts.tasks / counts.walks).toBeGreaterThan(0.4);
  expect(counts.failed).toBeGreaterThan(0);
  expect(new Set(tasks.map(({ shape }) => shape)).size).toBeGreaterThan(60);
});

test('every task replays from s0 and is graded as passed', () => {
  for (const task of tasks) {
    expect(replay(task)).toMatchObject({ passed: true, failures: [] });
    expect(grade(task, attempts(task.chain), answersOf(task))).toMatchObject({ passed: true, failures: [] });
  }
});

test('every mutated chain is rejected', () => {
  let tried = 0;
  const accepted: string[] = [];
  for (const task of tasks) {
    for (const { how, task: mutant } of mutants(task)) {
      tried++;
      if (replay(mutant).passed) accepted.push(`${task.text} ${how}`);
    }
  }
  expect(accepted).toEqual([]);
  expect(tried).toBeGreaterThan(5000);
});

test('a mail to somebody else, a second mail, a missing mail and a wrong answer are rejected', () => {
  let mails = 0;
  for (const task of tasks) {
    const calls = attempts(task.chain);
    const world = desk.create(task.worldSeed);
    const addresses = world.ids('person').map((id) => String(world.object('person', id)?.email));
    const at = calls.findIndex(({ tool }) => tool === 'send_mail');
    const given = answersOf(task);
    if (given.length > 0) expect(grade(task, calls, ['T-0000']).passed).toBe(false);
    const mail = calls[at];
    if (!mail) continue;
    mails++;
    expect(grade(task, calls.toSpliced(at, 1), given).passed).toBe(false);
    for (const to of addresses.filter((address) => address !== mail.args.to)) {
      const other = { ...mail, args: { ...mail.args, to } };
      expect(grade(task, calls.with(at, other), given).passed).toBe(false);
      const both = grade(task, [...calls, other], given);
      // The desk refuses a mail that the chain, or the world before it, has sent already.
      const refused = !desk.create(task.worldSeed).call('send_mail', other.args).ok;
      const sent = calls.some(
        ({ tool, args }) => tool === 'send_mail' && args.to === to && args.ticket === mail.args.ticket,
      );
      expect(both.passed).toBe(refused || sent);
    }
  }
  expect(mails).toBeGreaterThan(100);
});

test('reads may come in any order that the verifier can see no harm in', () => {
  for (const task of tasks) {
    const isRead = ({ tool }: ChainCall) => /^(get|list|find)_/.test(tool);
    const reordered = [...task.chain.filter(isRead).reverse(), ...task.chain.filter((call) => !isRead(call))];
    expect(grade(task, attempts(reordered), answersOf(task)).passed).toBe(true);
  }
});

test('a request names no tool, is short, and can be said in the tokens of the desk', () => {
  for (const { text, request, chain } of tasks) {
    for (const { name } of desk.tools) expect(text).not.toContain(name);
    expect(text.length).toBeLessThan(260);
    expect(desk.language.encodeRequest(request).length).toBeLessThan(40);
    expect(chain.length).toBeGreaterThanOrEqual(2);
    expect(chain.length).toBeLessThanOrEqual(6);
  }
});

test('training and held-out tasks share no task and no world', () => {
  const { train, heldOut } = splitTasks(tasks, { tasks: 200, heldOut: 60, seed: 5 });
  expect([train.length, heldOut.length]).toEqual([200, 60]);
  const worlds = new Set(train.map(({ worldSeed }) => worldSeed));
  expect(heldOut.some(({ worldSeed }) => worlds.has(worldSeed))).toBe(false);
});
