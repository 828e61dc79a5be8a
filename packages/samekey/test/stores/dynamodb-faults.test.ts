/**
 * What DynamoDB does to a writer: throttling, lost answers, items that are full, expiry by TTL, a process that dies between two
 * writes. The server is real; faults are made in the client, around calls that it does or does not make.
 */

import { describe, expect, it } from 'vitest';
import {
  claimed,
  claimRequest,
  describeResult,
  finished,
  forgetAsSeen,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { availableDynamoDb } from '../services/dynamodb.ts';
import { dynamoBench, named } from './dynamodb-bench.ts';

interface Item {
  readonly pk: { readonly S: string };
  readonly sk: { readonly S: string };
}

describe.each(availableDynamoDb())('DynamoDB: $name', (source) => {
  const bench = dynamoBench(source);

  async function ttlOf(key: string): Promise<number | undefined> {
    const { Items } = await bench.client.scan({ TableName: bench.tableName });
    const item = Items?.find((found) => found['key']?.S === key);
    return item?.['ttl']?.N === undefined ? undefined : Number(item['ttl'].N);
  }

  describe('what a call costs', () => {
    it('a fresh key is one write and no read', async () => {
      const store = bench.open();
      await store.claim([claimRequest({ key: 'other' })]);
      bench.made.length = 0;
      await store.claim([claimRequest()]);
      expect(bench.made).toEqual(['putItem']);
    });
  });

  describe('throttling and lost answers', () => {
    it('a throttled write is asked again, and in the end fails with nothing applied', async () => {
      const store = bench.open();
      await store.claim([claimRequest({ key: 'other' })]);
      let throttled = 3;
      bench.meet = (operation, _input, run) => {
        if (operation !== 'putItem' || throttled === 0) return run();
        throttled -= 1;
        return Promise.reject(
          named('ProvisionedThroughputExceededException', { $metadata: { httpStatusCode: 400 } }),
        );
      };
      expect(describeResult(only(await store.claim([claimRequest()])))).toBe('claimed 1');
      throttled = Number.POSITIVE_INFINITY;
      const failed = store.claim([claimRequest({ key: 'never' })]);
      await expect(failed).rejects.toMatchObject({ code: 'ERR_SAMEKEY_STORE', applied: 'no', busy: true });
      bench.pass();
      expect(await store.find([{ ...ID, key: 'never' }])).toEqual([null]);
    });

    it('of a call in which one row was written and another was refused nobody says that nothing was applied', async () => {
      const store = bench.open();
      await store.claim([claimRequest({ key: 'other' })]);
      let puts = 0;
      bench.meet = (operation, _input, run) => {
        if (operation !== 'putItem') return run();
        puts += 1;
        return puts === 1
          ? run()
          : Promise.reject(named('ValidationException', { $metadata: { httpStatusCode: 400, attempts: 1 } }));
      };
      const both = store.claim([claimRequest({ key: 'written' }), claimRequest({ key: 'refused' })]);
      await expect(both).rejects.toMatchObject({ applied: 'unknown' });
      bench.pass();
      const ids = ['written', 'refused'].map((key) => ({ ...ID, key }));
      expect((await store.find(ids)).map((record) => record?.state)).toEqual(['in_progress', undefined]);
    });

    it.each([
      ['ProvisionedThroughputExceededException', 400, 'no'],
      ['ThrottlingException', 400, 'no'],
      ['RequestLimitExceeded', 400, 'no'],
      ['TransactionConflictException', 400, 'no'],
      ['ReplicatedWriteConflictException', 400, 'no'],
      ['InternalServerError', 500, 'unknown'],
      ['ServiceUnavailable', 503, 'unknown'],
      ['ValidationException', 400, 'no'],
      ['AccessDeniedException', 400, 'no'],
    ])('%s (%i) of a write says that it was applied: %s', async (name, httpStatusCode, applied) => {
      const store = bench.open();
      await store.claim([claimRequest({ key: 'other' })]);
      let calls = 0;
      bench.meet = () => {
        calls += 1;
        return Promise.reject(named(name, { $metadata: { httpStatusCode, attempts: 1 } }));
      };
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied });
      // What is known to pass is asked again, in bounds.
      const passes = applied === 'no' && !/Validation|Denied/.test(name);
      expect(calls).toBe(passes ? 7 : 1);
      calls = 0;
      await expect(store.find([ID])).rejects.toMatchObject({ applied: 'no' });
    });

    it('throttled after a try of the SDK without an answer, the write may have been applied', async () => {
      const store = bench.open();
      await store.claim([claimRequest({ key: 'other' })]);
      bench.meet = () =>
        Promise.reject(named('ThrottlingException', { $metadata: { httpStatusCode: 400, attempts: 2 } }));
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'unknown' });
    });

    it('a call without an answer is aborted, and unknown for a write, nothing for a read', async () => {
      // Its time stands still, so that only the call under test is made.
      const store = bench.open({ callTimeMaxMs: 500, monotonicNow: () => 0 });
      await store.claim([claimRequest({ key: 'other' })]);
      bench.meet = () => new Promise(() => undefined);
      await expect(store.find([ID])).rejects.toMatchObject({ applied: 'no' });
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'unknown' });
    });

    // The SDK asks again by itself, and its second try meets what the first one wrote.
    it('a write that meets itself as a failed condition was applied: it is told once, and not refused', async () => {
      const store = bench.open();
      const owner = await finished(store, 'failed');
      let repeats = 0;
      bench.meet = async (operation, _input, run) => {
        await run();
        if (operation === 'putItem') repeats += 1;
        return run();
      };
      expect(only(await store.reopen([handRequest(owner)])).kind).toBe('applied');
      expect(repeats).toBeGreaterThan(0);
      bench.pass();
      expect(await store.audit({ acts: ['reopen'] })).toHaveLength(1);
    });

    it('no message carries a key, and a missing table is named with what mends it', async () => {
      const store = bench.open({ tableName: 'not-there' });
      const error: unknown = await store.find([ID]).catch((caught: unknown) => caught);
      expect(String(error)).toMatch(/ResourceNotFoundException.*createTableInput/);
      expect(String(error)).not.toContain(ID.key);
    });
  });

  describe('expiry (F47, F48)', () => {
    it('only final records are deleted by TTL, and never before their life and their time as a tombstone end', async () => {
      const store = bench.open();
      await claimed(store, { key: 'open' });
      await finished(store, 'unknown', { key: 'unknown' });
      await finished(store, 'retryable', { key: 'retryable' });
      for (const key of ['open', 'unknown', 'retryable']) expect(await ttlOf(key)).toBeUndefined();
      const owner = await finished(store, 'completed', { key: 'done', tombstoneMs: 5_500 });
      const { expiresAt } = await recordOf(store, owner);
      expect((await ttlOf('done')) ?? 0).toBeGreaterThanOrEqual((expiresAt + 5_500) / 1_000);
      // Settled and opened again, it must stay.
      const failed = await finished(store, 'failed', { key: 'failed' });
      expect(await ttlOf('failed')).toBeDefined();
      await store.reopen([handRequest(failed)]);
      expect(await ttlOf('failed')).toBeUndefined();
    });

    it('deleted by TTL between the look at it and the write onto it, it is a fresh key: claimed once, and refused to its old owner', async () => {
      let now = Date.UTC(2030, 0);
      const store = bench.open({ now: () => now, monotonicNow: () => now });
      const owner = await finished(store, 'completed');
      now += RETENTION_MS;
      let deletions = 0;
      bench.meet = async (operation, input, run) => {
        const { ConditionExpression = '', Item } = input as { ConditionExpression?: string; Item?: Item };
        if (operation === 'putItem' && Item !== undefined && ConditionExpression.includes('w = :was')) {
          deletions += 1;
          await bench.client.deleteItem({
            TableName: bench.tableName,
            Key: { pk: { S: Item.pk.S }, sk: { S: Item.sk.S } },
          });
        }
        return run();
      };
      const both = await store.claim([claimRequest(), claimRequest()]);
      expect([deletions > 0, ...both.map(describeResult)]).toEqual([true, 'claimed 1', 'found in-progress']);
      bench.pass();
      expect(only(await store.renew([{ ...owner, claimTtlMs: 10_000 }])).kind).toBe('lost');
    });

    it('what is not final is reaped by us, however TTL is set, and what is final only without TTL', async () => {
      let now = Date.UTC(2030, 0);
      const options = { now: () => now, monotonicNow: () => now };
      const stores = { on: bench.open({ ...options, timeToLive: true }), off: bench.open(options) };
      for (const [name, store] of Object.entries(stores)) {
        await finished(store, 'completed', { key: `${name} final` });
        await finished(store, 'retryable', { key: `${name} not final` });
      }
      now += 2 * RETENTION_MS;
      bench.made.length = 0;
      expect((await stores.on.reap(10)).count).toBe(3);
      expect(bench.made).not.toContain('scan');
      const left = await stores.on.list({});
      expect(left.map(({ key }) => key)).toEqual(['on final']);
    });

    it('what TTL has not deleted acts as absent', async () => {
      let now = Date.UTC(2030, 0);
      const store = bench.open({ now: () => now, monotonicNow: () => now });
      await finished(store, 'completed');
      now += RETENTION_MS;
      expect(describeResult(only(await store.claim([claimRequest()])))).toBe('claimed 1');
    });
  });

  describe('clocks of processes', () => {
    // Its slowness was added to the shared time, for all, with every reading.
    it('however slow the server is, the time of all is not ahead of the clocks', async () => {
      let elapsedMs = 0;
      const options = { now: () => 1_000_000 + elapsedMs, monotonicNow: () => elapsedMs };
      const store = bench.open(options);
      const other = bench.open(options);
      bench.meet = async (_operation, _input, run) => {
        elapsedMs += 400;
        return run();
      };
      for (let i = 0; i < 60; i += 1) {
        elapsedMs += 1_000;
        await claimed(i % 2 === 0 ? store : other, { key: `k-${i}` });
      }
      const last = await recordOf(store, { ...ID, key: 'k-59' });
      expect(last.createdAt).toBeLessThanOrEqual(1_000_000 + elapsedMs);
      // Behind by what the first look took in each process, and by a second of trust; it does not add up.
      expect(last.createdAt).toBeGreaterThanOrEqual(1_000_000 + elapsedMs - 4_000);
    });

    it('what was given back by a process whose clock is a little ahead is free at once: all go by the shared time', async () => {
      const ahead = bench.open({ now: () => 1_000_300, monotonicNow: () => 0 });
      const behind = bench.open({ now: () => 1_000_000, monotonicNow: () => 0 });
      // Both have read the shared time before the other wrote.
      await behind.claim([claimRequest({ key: 'other' })]);
      await finished(ahead, 'retryable');
      const found = only(await behind.claim([claimRequest()]));
      expect(found).toMatchObject({ kind: 'claimed', attempt: 2 });
    });
  });

  describe('the audit', () => {
    it('a row is not lost when its process dies behind the act: the next writer or the reaper puts it into its place', async () => {
      const store = bench.open();
      const reopened = await finished(store, 'failed', { key: 'reopened' });
      const dropped = await finished(store, 'retryable', { key: 'dropped' });
      // The act itself is a put under a condition; rows into their place are puts without one.
      bench.meet = (operation, input, run) =>
        operation === 'putItem' && !('ConditionExpression' in (input as object))
          ? Promise.reject(named('killed', { code: 'ECONNREFUSED' }))
          : run();
      expect(only(await store.reopen([handRequest(reopened)])).kind).toBe('applied');
      expect(only(await forgetAsSeen(store, dropped)).kind).toBe('applied');
      bench.pass();
      const other = bench.open();
      expect(await other.find([{ ...ID, key: 'dropped' }])).toEqual([null]);
      expect((await other.reap(10)).count).toBe(0);
      const acts = (await other.audit({})).map(({ act, key }) => `${act} ${key}`);
      expect(acts.toSorted()).toEqual(['forget dropped', 'reopen reopened']);
      expect(describeResult(only(await other.claim([claimRequest({ key: 'dropped' })])))).toBe('claimed 1');
    });
  });
});
