/** Contradictions on their way to the audit: together, again where the store was away, and never without end. */

import { describe, expect, it } from 'vitest';
import type { NewAuditRow } from '../../src/store/audit.ts';
import { StoreError } from '../../src/core/errors.ts';
import { contradictionRow, createNoter } from '../../src/engine/ending/noter.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/index.ts';

type Fault = 'refuse' | 'lose-reply' | 'hang' | 'forbid';

/** A real store whose connection can be told to fail, and a noter in front of it. */
function setUp() {
  const world = fakeWorld();
  const store = memoryStore({ now: () => world.wallNow() });
  const errors: unknown[] = [];
  const calls: number[] = [];
  const faults: Fault[] = [];
  const noter = createNoter({
    store: {
      async note(rows) {
        calls.push(rows.length);
        const fault = faults.shift();
        if (fault === 'hang') return new Promise<void>(() => undefined);
        if (fault === 'refuse') throw new StoreError('The store is away.', { applied: 'no' });
        if (fault === 'forbid') throw new StoreError('No right.', { applied: 'no', transient: false });
        await store.note(rows);
        if (fault === 'lose-reply') throw new StoreError('The reply was lost.', { applied: 'unknown' });
      },
    },
    world,
    callTimeMaxMs: 500,
    failed: (error) => errors.push(error),
  });
  const keys = async (): Promise<string[]> =>
    (await store.audit({ limit: 1_000 })).map(({ key }) => key).toReversed();
  return { world, noter, errors, calls, faults, keys };
}

function row(key: string): NewAuditRow {
  const id = { scope: 's', key };
  return contradictionRow({
    id,
    operation: 'o',
    attempt: 1,
    found: 'failed',
    wanted: 'completed',
    reason: null,
  });
}

describe('the noter', () => {
  it('writes what comes while a call is under way together, in its order', async () => {
    const { noter, calls, keys } = setUp();
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => noter.note(row(key))));
    expect(calls).toEqual([1, 3]);
    expect(await keys()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('tries again when the store was away or did not answer, and tells of each failure', async () => {
    const { world, noter, errors, faults, keys } = setUp();
    faults.push('refuse', 'hang');
    const noted = noter.note(row('a'));
    await world.advance(500 + 2_000);
    await noted;
    expect(await keys()).toEqual(['a']);
    expect(errors).toHaveLength(2);
  });

  it('may write a row twice when the reply was lost, but never none', async () => {
    const { world, noter, faults, keys } = setUp();
    faults.push('lose-reply');
    const noted = noter.note(row('a'));
    await world.advance(1_000);
    await noted;
    expect(await keys()).toEqual(['a', 'a']);
  });

  it('gives up after five tries, or at once where trying again is no use, and goes on with the next', async () => {
    const { world, noter, errors, calls, faults, keys } = setUp();
    faults.push(...Array.from({ length: 5 }, (): Fault => 'refuse'), 'forbid');
    const first = noter.note(row('a'));
    await world.advance(4_000);
    await first;
    await noter.note(row('b'));
    await noter.note(row('c'));
    expect(errors).toHaveLength(6);
    expect(calls).toHaveLength(7);
    expect(await keys()).toEqual(['c']);
  });

  it('keeps at most a thousand waiting, and tells of what it lets go', async () => {
    const { world, noter, errors, faults, keys } = setUp();
    faults.push('hang');
    const all = Array.from({ length: 1_010 }, (_, i) => noter.note(row(String(i))));
    // The first is with the store; nine find no room.
    expect(errors).toHaveLength(9);
    await world.advance(1_500);
    await Promise.all(all);
    expect(await keys()).toHaveLength(1_000);
    expect(errors).toHaveLength(10);
  });
});
