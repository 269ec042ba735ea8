import { describe, expect, it } from 'vitest';
import { FAILURE_KINDS, failureKind, LabError } from '../../src/base/errors.ts';
import { carry, unwrap } from '../../src/lab/outcome.ts';
import { StreamHost } from '../../workers/host.ts';

describe('an error that crosses between threads', () => {
  it('keeps what it says, where, the remedy and its kind', async () => {
    for (const kind of [...FAILURE_KINDS, null]) {
      const error = new LabError('it broke', { where: 'here', remedy: 'mend it', kind });
      const outcome = structuredClone(
        await carry(() => {
          throw error;
        }),
      );
      let back: unknown;
      try {
        unwrap(outcome);
      } catch (cause) {
        back = cause;
      }
      expect(back).toMatchObject({ message: 'it broke', where: 'here', remedy: 'mend it', kind });
      expect(failureKind(back)).toBe(kind);
    }
  });

  it('that is none of the lab’s is none on the other side', async () => {
    const outcome = await carry(() => Promise.reject(new TypeError('a fault of ours')));
    expect(() => unwrap(outcome)).toThrow('a fault of ours');
    expect(outcome).toMatchObject({ ok: false, error: { lab: false, kind: null } });
    expect(unwrap(await carry(() => 7))).toBe(7);
  });
});

describe('StreamHost', () => {
  it('tells all items of a stream that breaks before it tells that it broke', async () => {
    async function* breaking() {
      yield 'checkpoint';
      yield 'steps';
      throw new LabError('the device is gone', { kind: 'device lost' });
    }
    const host = new StreamHost();
    const id = host.open(breaking());
    const told: unknown[] = [];
    for (;;) {
      const outcome = await carry(() => host.next(id));
      if (!outcome.ok) {
        expect(outcome.error.kind).toBe('device lost');
        break;
      }
      expect(outcome.value.done).toBe(false);
      told.push(...outcome.value.items);
    }
    expect(told).toEqual(['checkpoint', 'steps']);
    // After its error a stream is at its end.
    expect(await host.next(id)).toEqual({ items: [], done: true });
  });

  it('stops a stream that is closed', async () => {
    let stopped = false;
    async function* endless() {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        stopped = true;
      }
    }
    const host = new StreamHost();
    const id = host.open(endless());
    expect((await host.next(id)).items.length).toBeGreaterThan(0);
    await host.close(id);
    expect(stopped).toBe(true);
    expect(await host.next(id)).toEqual({ items: [], done: true });
  });
});
