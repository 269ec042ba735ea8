import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/base/rng.ts';
import { callsOf, type Trajectory } from '../../../src/trace/model.ts';
import { createDesk } from '../../../src/world/desk/create.ts';
import { isDue } from '../../../src/world/desk/due.ts';
import { checkDesk, desk, drawJob, expert, JOB_KINDS, novice } from '../../../src/world/desk/index.ts';
import type { Ticket } from '../../../src/world/desk/state.ts';
import { worldById, worlds } from '../../../src/world/index.ts';
import { outcomeOf, perform } from '../../../src/world/kit/script.ts';

const ticketsOf = (world: ReturnType<typeof createDesk>) =>
  world.ids('ticket').map((id) => world.object('ticket', id) as Ticket);

describe('the expert', () => {
  it.each(JOB_KINDS)('does the job "%s" without a refused call', (kind) => {
    let done = 0;
    for (let seed = 0; seed < 100; seed++) {
      const world = createDesk(seed);
      const job = drawJob(world, new Rng(seed), kind);
      if (!job) continue;
      const { calls, ending } = perform(world, expert(job.request));
      expect(ending.gaveUp, `${seed}: ${job.text}`).toBeNull();
      expect(calls.every(({ observation }) => observation.ok)).toBe(true);
      expect(ending.answers).toHaveLength(job.request.goals.filter((goal) => goal.kind === 'tell').length);
      expect(checkDesk(world)).toEqual([]);
      done++;
    }
    expect(done).toBeGreaterThan(50);
  });

  it('reminds exactly the owners who are due, at their own addresses', () => {
    let reminders = 0;
    for (let seed = 0; seed < 200; seed++) {
      const world = createDesk(seed);
      const start = world.snapshot();
      const due = ticketsOf(world).filter((ticket) => isDue(ticket, world.now()));
      perform(world, expert(drawJob(world, new Rng(0), 'remind-all')!.request));
      const wanted = due.flatMap(({ id, owner }) => {
        const to = world.object('person', owner)!.email as string;
        return [`mail ${id} ${to}`, `ticket ${id} ${world.now()}`];
      });
      const changed = world
        .diff(start, world.snapshot())
        .map(({ table, after }) =>
          table === 'mail'
            ? `mail ${after!.ticket} ${after!.to}`
            : `${table} ${after!.id} ${after!.reminded_at}`,
        );
      expect(changed.sort()).toEqual(wanted.sort());
      reminders += due.length;
    }
    expect(reminders).toBeGreaterThan(100);
  });

  it('tells what is so', () => {
    for (let seed = 0; seed < 50; seed++) {
      const world = createDesk(seed);
      const ticket = ticketsOf(world)[0]!;
      const path = ['owner', 'email'];
      const request = { goals: [{ kind: 'tell' as const, what: { root: { id: ticket.id }, path } }] };
      const { ending } = perform(world, expert(request));
      expect(ending.answers).toEqual([world.object('person', ticket.owner)!.email]);
    }
  });

  it('understands a description as of the moment the request is made', () => {
    let done = 0;
    for (let seed = 0; seed < 200; seed++) {
      const world = createDesk(seed);
      const fitting = ticketsOf(world).filter(
        ({ status, priority }) => status === 'open' && priority === 'P2',
      );
      if (fitting.length !== 1) continue;
      const ticket = { root: { the: 'ticket', where: { status: 'open', priority: 'P2' } }, path: [] };
      const request = {
        goals: [
          {
            kind: 'do' as const,
            intent: 'set_priority',
            args: { ticket, priority: { root: { id: 'P1' }, path: [] } },
          },
          { kind: 'do' as const, intent: 'close_ticket', args: { ticket } },
        ],
      };
      expect(perform(world, expert(request)).ending.gaveUp).toBeNull();
      expect(world.object('ticket', fitting[0]!.id)).toMatchObject({ status: 'closed', priority: 'P1' });
      done++;
    }
    expect(done).toBeGreaterThan(20);
  });

  it('gets through a world that fails now and then, and gives up in one that always does', () => {
    let done = 0;
    for (let seed = 0; seed < 100; seed++) {
      const world = createDesk(seed, { read: 0.2, write: 0.2 });
      if (perform(world, expert(drawJob(world, new Rng(seed)).request)).ending.gaveUp === null) done++;
    }
    expect(done).toBeGreaterThan(95);
    const dead = createDesk(1, { read: 1, write: 1 });
    const { ending, calls } = perform(dead, expert(drawJob(dead, new Rng(1)).request));
    expect(ending.gaveUp).not.toBeNull();
    expect(calls).toHaveLength(4);
  });

  it('says what it cannot find', () => {
    const what = { root: { the: 'ticket', where: { priority: 'P1', age: 999 } }, path: ['owner'] };
    const { ending } = perform(createDesk(1), expert({ goals: [{ kind: 'tell', what }] }));
    expect(ending.gaveUp).toContain('no ticket fits');
  });
});

describe('the novice', () => {
  it('fails at a realistic share, in ways the world itself refuses, and never breaks the desk', () => {
    const share = new Map<string, number>();
    let good = 0;
    for (let seed = 0; seed < 400; seed++) {
      const world = createDesk(seed);
      const start = world.snapshot();
      const { request } = drawJob(world, new Rng(seed));
      const wanted = outcomeOf(world, start, perform(world, expert(request)).ending);
      const after = createDesk(seed);
      const begun = after.snapshot();
      const { calls, ending } = perform(after, novice(expert(request), request, new Rng(seed)));
      if (outcomeOf(after, begun, ending) === wanted) good++;
      for (const { observation } of calls) {
        if (!observation.ok) share.set(observation.error.code, (share.get(observation.error.code) ?? 0) + 1);
      }
      expect(checkDesk(after)).toEqual([]);
    }
    expect(good / 400).toBeGreaterThan(0.5);
    expect(good / 400).toBeLessThan(0.9);
    expect([...share.keys()].sort()).toEqual(['conflict', 'invalid_argument', 'not_found']);
  });
});

describe('the corpus', () => {
  const read = (seed: number, trajectories: number, noviceShare = 0.3): Trajectory[] => [
    ...desk.corpus({ seed, trajectories, noviceShare }),
  ];

  it('is the same for the same seed, and each trajectory depends on its number alone', () => {
    expect(read(2, 60)).toEqual(read(2, 60));
    expect(read(2, 20)).toEqual(read(2, 60).slice(0, 20));
    expect(read(3, 20)).not.toEqual(read(2, 20));
  });

  it('holds jobs, calls with the world’s own answers, and a closing word', () => {
    const trajectories = read(7, 300);
    const ids = trajectories.flatMap((trajectory) => callsOf(trajectory).map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (const { turns, source, rank, reward, tools } of trajectories) {
      expect([source, rank, tools.length]).toEqual(['desk', 'synthetic', 11]);
      expect([0, 1]).toContain(reward);
      expect(turns[0]).toMatchObject({ kind: 'message', role: 'system' });
      expect(turns[1]).toMatchObject({ kind: 'message', role: 'user' });
      expect(turns.at(-1)).toMatchObject({ kind: 'message', role: 'agent' });
    }
    for (const call of trajectories.flatMap(callsOf)) {
      expect(call.error === null).toBe(call.result !== undefined);
    }
  });

  it('is used in every tool and fails about as often as traces do', () => {
    const calls = read(9, 600).flatMap(callsOf);
    const used = new Set(calls.filter(({ error }) => error === null).map(({ tool }) => tool));
    expect([...used].sort()).toEqual(desk.tools.map(({ name }) => name).sort());
    const errors = calls.filter(({ error }) => error !== null).length / calls.length;
    expect(errors).toBeGreaterThan(0.05);
    expect(errors).toBeLessThan(0.15);
  });

  it('refuses shares and numbers that make no sense', () => {
    expect(() => read(1, 1, 1.5)).toThrow(/noviceShare/);
    expect(() => read(1, Number.NaN)).toThrow(/trajectories/);
  });

  it('rewards experts always and novices less', () => {
    const mean = (share: number) => read(4, 300, share).reduce((sum, { reward }) => sum + reward!, 0) / 300;
    expect(mean(0)).toBeGreaterThan(0.98);
    expect(mean(1)).toBeLessThan(0.85);
    expect(mean(1)).toBeGreaterThan(0.4);
  });
});

describe('the registry', () => {
  it('knows the desk, and says which worlds there are', () => {
    expect(worlds.get('desk')).toBe(desk);
    expect(worldById('desk')).toBe(desk);
    expect(() => worldById('moon')).toThrow(/moon/);
  });
});
