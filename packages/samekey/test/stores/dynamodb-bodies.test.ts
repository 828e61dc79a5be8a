/**
 * Answers that no item can hold (F50): kept elsewhere, to the byte, or stored as one whose body was not kept; and what is left elsewhere when
 * a process dies in between. The same tests on files and on a server of S3's protocol.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BodyStore, s3Bodies } from '../../src/stores/dynamodb/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  describeResult,
  finishRequest,
  ID,
  only,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { availableDynamoDb, temporaryBodies } from '../services/dynamodb.ts';
import { type S3Server, startS3 } from '../services/s3.ts';
import { dynamoBench, named } from './dynamodb-bench.ts';

const BODY = Uint8Array.from({ length: 900_000 }, (_, i) => (i * 7 + (i >> 8)) % 256);
const LARGE = { ...ANSWER, body: BODY };
const LOST = { ...ANSWER, body: null };
const HOUR_MS = 3_600_000;

let s3: S3Server;
let prefixes = 0;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.stop());

const STORES: Readonly<Record<string, () => Required<BodyStore> & { remove?(): void }>> = {
  files: () => temporaryBodies(),
  S3: () => {
    prefixes += 1;
    return s3Bodies({ client: s3.client, bucket: s3.bucket, prefix: `of-test-${prefixes}/` });
  },
};

describe.each(availableDynamoDb())('DynamoDB, large answers: $name', (source) => {
  const bench = dynamoBench(source);

  it('without a body store an answer that no item holds is stored without its body, and is met as not kept', async () => {
    const store = bench.open();
    const owner = await claimed(store);
    const result = only(await store.finish([finishRequest(owner, 'completed', { response: LARGE })]));
    expect(result.kind).toBe('applied');
    expect((await recordOf(store)).response).toEqual(LOST);
    const request = claimRequest({ key: 'k', input: BODY });
    await expect(store.claim([request])).rejects.toMatchObject({ applied: 'no', transient: false });
    await expect(store.reapBodies()).rejects.toThrow(/can be listed/);
  });

  describe.each(Object.keys(STORES))('in %s', (name) => {
    let bodies: Required<BodyStore> & { remove?(): void };
    const open = (...[options]: Parameters<typeof bench.open>): ReturnType<typeof bench.open> => {
      bodies = STORES[name]?.() ?? expect.fail('no such store');
      return bench.open({ bodies, ...options });
    };
    afterEach(() => bodies.remove?.());
    /** The names of what the bench's table has put. */
    const places = async (): Promise<readonly string[]> =>
      bodies.list((await bench.open({ bodies }).identity?.())?.databaseId ?? '', null, 10);

    it('it comes back to the byte, also from another process, and goes with its record', async () => {
      const store = open();
      const owner = await claimed(store, { input: BODY });
      await store.finish([finishRequest(owner, 'completed', { response: LARGE })]);
      const record = await recordOf(bench.open({ bodies }));
      expect(Buffer.from(record.response?.body ?? []).equals(BODY)).toBe(true);
      expect(Buffer.from(record.input ?? []).equals(BODY)).toBe(true);
      expect(await places()).toHaveLength(2);
      await store.erase({ scope: ID.scope, limit: 10, reason: 'asked', actor: null });
      expect(await places()).toEqual([]);
    });

    it('the body is there before the record that names it: who finds the record finds the body', async () => {
      const store = open();
      const owner = await claimed(store);
      let there: readonly string[] = [];
      const tableId = (await store.identity?.())?.databaseId ?? '';
      bench.meet = async (operation, _input, run) => {
        if (operation === 'putItem') there = await bodies.list(tableId, null, 10);
        return run();
      };
      await store.finish([finishRequest(owner, 'completed', { response: LARGE })]);
      expect(there).toHaveLength(1);
    });

    it('a body store that fails fails the verb, with nothing written, and the next try is the answer', async () => {
      let isDown = true;
      const store = open();
      const failing = bench.open({
        bodies: {
          ...bodies,
          put: (...all) => (isDown ? Promise.reject(new Error('down')) : bodies.put(...all)),
        },
      });
      const owner = await claimed(failing);
      const request = finishRequest(owner, 'completed', { response: LARGE });
      await expect(failing.finish([request])).rejects.toMatchObject({ applied: 'no' });
      expect((await recordOf(store)).state).toBe('in_progress');
      isDown = false;
      expect(only(await failing.finish([request])).kind).toBe('applied');
    });

    it('bytes that are gone, or are not what was put, are an answer that was not kept; an input so lost runs nothing', async () => {
      const store = open();
      const owner = await claimed(store);
      await store.finish([finishRequest(owner, 'completed', { response: LARGE })]);
      const [place] = await places();
      await bodies.put(place ?? '', BODY.slice(1));
      expect((await recordOf(store)).response).toEqual(LOST);
      await bodies.delete(place ?? '');
      await bodies.delete(place ?? '');
      expect(await bodies.get(place ?? '')).toBeNull();
      expect((await recordOf(store)).response).toEqual(LOST);
      expect(describeResult(only(await store.claim([claimRequest()])))).toContain('final');

      await claimed(store, { key: 'with input', input: BODY });
      for (const left of await places()) await bodies.delete(left);
      await expect(store.find([{ ...ID, key: 'with input' }])).rejects.toThrow(/input of a record is not in/);
    });

    // F15
    it('what a record names stays, when the write that put it lost its reply and somebody has changed the record since', async () => {
      const store = open();
      const other = bench.open({ bodies });
      const request = claimRequest({ input: BODY, whenClaimEnds: 'resume' });
      let isFirst = true;
      await store.identity?.();
      bench.meet = async (operation, _input, run) => {
        if (operation !== 'putItem' || !isFirst) return run();
        isFirst = false;
        await run();
        // The reply is lost. Before the SDK asks again, a sign of life is written.
        const { claimId, claimTtlMs } = request;
        expect(only(await other.renew([{ ...ID, claimId, attempt: 1, claimTtlMs }])).kind).toBe('renewed');
        return run();
      };
      expect(describeResult(only(await store.claim([request])))).toBe('claimed 1');
      bench.pass();
      expect(Buffer.from((await recordOf(store)).input ?? []).equals(BODY)).toBe(true);
    });

    it('what a dead process or TTL left behind is deleted after it was seen alone for an hour, and nothing else', async () => {
      let elapsedMs = 0;
      const store = open({ monotonicNow: () => elapsedMs });
      const kept = await claimed(store, { key: 'kept' });
      await store.finish([finishRequest(kept, 'completed', { response: LARGE })]);
      const gone = await claimed(store, { key: 'gone' });
      await store.finish([finishRequest(gone, 'completed', { response: LARGE })]);
      const dead = await claimed(store, { key: 'dead' });
      // Its record was not written; whether it was, nobody knows, so its bytes stay.
      bench.meet = (operation, _input, run) =>
        operation === 'putItem' ? Promise.reject(named('TimeoutError')) : run();
      const failed = store.finish([finishRequest(dead, 'completed', { response: LARGE })]);
      await expect(failed).rejects.toMatchObject({ applied: 'unknown' });
      bench.pass();
      // As TTL does.
      const { Items = [] } = await bench.client.scan({ TableName: bench.tableName });
      const { pk, sk } = Items.find((item) => item['key']?.S === 'gone') ?? expect.fail('not found');
      if (pk !== undefined && sk !== undefined)
        await bench.client.deleteItem({ TableName: bench.tableName, Key: { pk, sk } });

      expect(await store.reapBodies()).toEqual({ looked: 3, watched: 2, deleted: 0 });
      elapsedMs += HOUR_MS - 1;
      expect(await store.reapBodies()).toMatchObject({ watched: 2, deleted: 0 });
      // Another process has watched nothing yet, whatever its wall clock says.
      const other = bench.open({ bodies, monotonicNow: () => 0, now: () => Date.now() + 99 * HOUR_MS });
      expect(await other.reapBodies()).toMatchObject({ watched: 2, deleted: 0 });
      elapsedMs += 1;
      // In pieces, each going on where the last one stopped.
      const pieces = [];
      for (let i = 0; i < 4; i += 1) pieces.push(await store.reapBodies({ limit: 1 }));
      expect(pieces.map(({ looked }) => looked)).toEqual([1, 1, 1, 0]);
      expect(pieces.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(2);
      expect(await places()).toHaveLength(1);
      expect((await recordOf(store, kept)).response?.body?.byteLength).toBe(BODY.byteLength);
      await expect(store.reapBodies({ orphanedForMs: 1_000 })).rejects.toThrow(/orphanedForMs/);
    });

    it('of two tables in one place neither reaps what the other has put, and a copy reads its original and deletes nothing of it', async () => {
      let elapsedMs = 0;
      const store = open({ monotonicNow: () => elapsedMs });
      const owner = await claimed(store);
      await store.finish([finishRequest(owner, 'completed', { response: LARGE })]);
      const [place] = await places();

      const copyName = await bench.copyTable();
      const copy = bench.open({ bodies, tableName: copyName, monotonicNow: () => elapsedMs });
      expect((await recordOf(copy)).response?.body?.byteLength).toBe(BODY.byteLength);
      await copy.erase({ scope: ID.scope, limit: 10, reason: 'asked', actor: null });
      expect(await places()).toEqual([place]);

      // The original has a record that the copy does not know.
      const later = await claimed(store, { key: 'later' });
      await store.finish([finishRequest(later, 'completed', { response: LARGE })]);
      expect(await copy.reapBodies()).toEqual({ looked: 0, watched: 0, deleted: 0 });
      elapsedMs += HOUR_MS;
      expect(await copy.reapBodies()).toMatchObject({ deleted: 0 });
      expect(await store.reapBodies()).toMatchObject({ looked: 2, watched: 0 });
      expect((await recordOf(store)).response?.body?.byteLength).toBe(BODY.byteLength);
      expect((await recordOf(store, later)).response?.body?.byteLength).toBe(BODY.byteLength);
    });

    it('names are listed in order, in pieces', async () => {
      open();
      const names = Array.from({ length: 60 }, (_, i) => `${(i * 37) % 60}`.padStart(4, '0')).map(
        (n) => `t/${n}/x.input.${n}`,
      );
      await bodies.put('s/0001/x', Uint8Array.of(1));
      await bodies.put('u/0001/x', Uint8Array.of(1));
      for (const each of names) await bodies.put(each, Uint8Array.of(1));
      const listed: string[] = [];
      for (let after: string | null = null; ; after = listed.at(-1) ?? null) {
        const more = await bodies.list('t', after, 7);
        listed.push(...more);
        if (more.length < 7) break;
      }
      expect(listed).toEqual(names.toSorted());
    });
  });
});

it('S3 lists as many names as were asked for, also more than it tells at once: fewer are the end', async () => {
  const bodies = STORES['S3']?.() ?? expect.fail('no such store');
  const names = Array.from({ length: 1_003 }, (_, n) => `t/${String(n).padStart(4, '0')}/x.input.${n}`);
  for (let at = 0; at < names.length; at += 50)
    await Promise.all(names.slice(at, at + 50).map((each) => bodies.put(each, Uint8Array.of(1))));
  expect(await bodies.list('t', null, 1_002)).toEqual(names.slice(0, 1_002));
  expect(await bodies.list('t', names[0] ?? null, 2_000)).toEqual(names.slice(1));
});
