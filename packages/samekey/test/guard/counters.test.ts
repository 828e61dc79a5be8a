/** Counts of stored keys, in every store that keeps them. */

import type { Counters } from 'samekey/guard';
import { afterAll, describe, expect, it } from 'vitest';
import { COUNTED, type CountedDatabase, claimOf } from './counting.ts';

const countOf = async (counters: Counters, caller: string) => (await counters.read([caller])).get(caller);

describe.each(COUNTED)('counts in $name', (kind) => {
  const opened: CountedDatabase[] = [];
  async function store() {
    const database = await kind.open();
    opened.push(database);
    const made = await database.store();
    if (made.counters === undefined) throw new Error('It keeps no counts.');
    return { store: made, counters: made.counters, database };
  }
  afterAll(async () => {
    for (const database of opened) await database.end();
    await kind.stop();
  });

  it('a recount is the number of the caller’s records, of all its operations, and of no other caller', async () => {
    const { store: made, counters } = await store();
    await made.claim([
      ...Array.from({ length: 7 }, (_, i) => claimOf('acme', `k${i}`)),
      claimOf('acme', 'other', { scope: 'acme|refund' }),
      claimOf('acme', 'none', { scope: 'acme' }),
      claimOf('acme/eu', 'k', {}),
      claimOf('acme2', 'k', {}),
      claimOf('acm', 'k', {}),
    ]);
    expect(await counters.recount('acme')).toBe(9);
    expect(await countOf(counters, 'acme')).toBe(9);
    expect(await counters.recount('acme/eu')).toBe(1);
    expect(await counters.recount('nobody')).toBe(0);
    expect(await countOf(counters, 'nobody')).toBe(0);
  });

  it('what is forgotten is taken off', async () => {
    const { store: made, counters } = await store();
    await made.claim([claimOf('acme', 'a'), claimOf('acme', 'b')]);
    const fence = { claimId: 'claim-acme-a', attempt: 1 };
    const id = { scope: 'acme|order', key: 'a' };
    await made.finish([
      {
        ...id,
        ...fence,
        to: 'retryable',
        proof: 'declared',
        reason: null,
        response: null,
        unbindFingerprint: false,
        extendMs: 0,
        reconcileAfterMs: 0,
        handedOver: false,
      },
    ]);
    expect(await counters.recount('acme')).toBe(2);
    const [done] = await made.forget([
      { ...id, ...fence, state: 'retryable', reason: 'a test', actor: null },
    ]);
    expect(done?.kind).toBe('applied');
    expect(await made.list({})).toHaveLength(1);
    expect(await countOf(counters, 'acme')).toBe(1);
  });
});

describe.each(COUNTED.filter(({ name }) => name !== 'memory'))('shared counts in $name', (kind) => {
  afterAll(() => kind.stop());

  it('several processes add to one count, and take off nobody who was never counted', async () => {
    const database = await kind.open();
    const stores = await Promise.all(Array.from({ length: 4 }, () => database.store()));
    const counters = stores.map((store) => store.counters as Counters);
    const [first] = counters as [Counters];
    await first.recount('acme');
    await first.recount('umbrella');
    await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        (counters[i % 4] as Counters).add(
          new Map([
            ['umbrella', i % 2 === 0 ? 2 : -1],
            ['acme', 3],
            ['stranger', -5],
          ]),
        ),
      ),
    );
    const counts = await first.read(['acme', 'umbrella', 'stranger']);
    expect(Object.fromEntries(counts)).toEqual({ acme: 1_200, umbrella: 200 });
    // Reaped by one process before another one has written down that they were there.
    await first.add(new Map([['acme', -1_205]]));
    expect((await first.read(['acme'])).get('acme')).toBe(0);
    await first.add(new Map([['acme', 7]]));
    expect((await first.read(['acme'])).get('acme')).toBe(2);
    await database.end();
  });
});
