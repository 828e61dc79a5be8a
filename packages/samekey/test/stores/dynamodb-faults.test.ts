/**
 * What DynamoDB does to a writer: throttling, lost answers, items that are full, expiry by TTL, a process that dies between two
 * writes. The server is real; faults are made in the client, around calls that it does or does not make.
 */

import { readdirSync } from 'node:fs';
import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createTableInput,
  type DynamoDbClient,
  type DynamoDbStore,
  type DynamoDbStoreOptions,
  dynamodbStore,
} from '../../src/stores/dynamodb/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  describeResult,
  finished,
  finishRequest,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  recordOf,
} from '../../src/testing/contract/context.ts';
import { type DynamoDbServer, dynamoClient, fileBodies, startDynamoDb } from '../services/dynamodb.ts';

type Call = (operation: string, input: unknown, run: () => Promise<unknown>) => Promise<unknown>;

let server: DynamoDbServer;
let client: DynamoDB;
let tableName: string;
/** What happens to calls; by itself they are made. */
let meet: Call;
const made: string[] = [];

beforeAll(async () => {
  server = await startDynamoDb();
});
afterAll(() => server.stop());
beforeEach(async () => {
  tableName = await server.createTable();
  client = dynamoClient(server.url);
  meet = (_operation, _input, run) => run();
  made.length = 0;
});
afterEach(() => client.destroy());

function open(options: Partial<DynamoDbStoreOptions> = {}): DynamoDbStore {
  const operations = [
    'getItem',
    'putItem',
    'updateItem',
    'deleteItem',
    'query',
    'scan',
    'describeTable',
  ] as const;
  const wrapped = Object.fromEntries(
    [...operations, 'describeTimeToLive' as const].map((operation) => [
      operation,
      (input: never, told: never) => {
        made.push(operation);
        return meet(operation, input, () => (client as unknown as DynamoDbClient)[operation](input, told));
      },
    ]),
  ) as unknown as DynamoDbClient;
  return dynamodbStore({ client: wrapped, tableName, timeToLive: false, random: () => 0, ...options });
}

function named(name: string, more: object = {}): Error {
  return Object.assign(new Error('made by a test'), { name, ...more });
}

async function ttlOf(key: string): Promise<number | undefined> {
  const { Items } = await client.scan({ TableName: tableName });
  const item = Items?.find((found) => found['key']?.S === key);
  return item?.['ttl']?.N === undefined ? undefined : Number(item['ttl'].N);
}

describe('what a call costs', () => {
  it('a fresh key is one write and no read', async () => {
    const store = open();
    await store.claim([claimRequest({ key: 'other' })]);
    made.length = 0;
    await store.claim([claimRequest()]);
    expect(made).toEqual(['putItem']);
  });
});

describe('throttling and lost answers', () => {
  it('a throttled write is asked again, and in the end fails with nothing applied', async () => {
    const store = open();
    await store.claim([claimRequest({ key: 'other' })]);
    let throttled = 3;
    meet = (operation, _input, run) => {
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
    meet = (_operation, _input, run) => run();
    expect(await store.find([{ ...ID, key: 'never' }])).toEqual([null]);
  });

  it('throttled after a try of the SDK without an answer, the write may have been applied', async () => {
    const store = open();
    await store.claim([claimRequest({ key: 'other' })]);
    meet = () =>
      Promise.reject(named('ThrottlingException', { $metadata: { httpStatusCode: 400, attempts: 2 } }));
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'unknown' });
  });

  it('a call without an answer is aborted, and unknown for a write, nothing for a read', async () => {
    // Its time stands still, so that only the call under test is made.
    const store = open({ callTimeMaxMs: 500, monotonicNow: () => 0 });
    await store.claim([claimRequest({ key: 'other' })]);
    meet = () => new Promise(() => undefined);
    await expect(store.find([ID])).rejects.toMatchObject({ applied: 'no' });
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'unknown' });
  });

  // The SDK asks again by itself, and its second try meets what the first one wrote.
  it('a write that meets itself as a failed condition was applied: it is told once, and not refused', async () => {
    const store = open();
    const owner = await finished(store, 'failed');
    let repeats = 0;
    meet = async (operation, _input, run) => {
      await run();
      if (operation === 'putItem') repeats += 1;
      return run();
    };
    expect(only(await store.reopen([handRequest(owner)])).kind).toBe('applied');
    expect(repeats).toBeGreaterThan(0);
    meet = (_operation, _input, run) => run();
    expect(await store.audit({ acts: ['reopen'] })).toHaveLength(1);
  });

  it('no message carries a key, and a missing table is named with what mends it', async () => {
    const store = open({ tableName: 'not-there' });
    const error: unknown = await store.find([ID]).catch((caught: unknown) => caught);
    expect(String(error)).toMatch(/ResourceNotFoundException.*createTableInput/);
    expect(String(error)).not.toContain(ID.key);
  });
});

describe('large answers (F50)', () => {
  const large = { ...ANSWER, body: new Uint8Array(900_000).fill(7) };

  it('without a body store an answer that no item holds is stored without its body', async () => {
    const store = open();
    const owner = await claimed(store);
    expect(only(await store.finish([finishRequest(owner, 'completed', { response: large })])).kind).toBe(
      'applied',
    );
    expect((await recordOf(store)).response).toEqual({ ...large, body: null });
    const input = new Uint8Array(900_000);
    await expect(store.claim([claimRequest({ key: 'k', input })])).rejects.toMatchObject({
      applied: 'no',
      transient: false,
    });
  });

  it('with one it comes back to the byte, goes with its record, and is met as not kept when its bytes are gone', async () => {
    const bodies = fileBodies();
    const store = open({ bodies });
    const owner = await claimed(store, { input: large.body });
    await store.finish([finishRequest(owner, 'completed', { response: large })]);
    const record = await recordOf(store);
    expect([record.response?.body?.length, record.input?.length]).toEqual([900_000, 900_000]);
    expect(readdirSync(bodies.folder)).toHaveLength(2);
    await store.erase({ scope: ID.scope, limit: 10, reason: 'asked', actor: null });
    expect(readdirSync(bodies.folder)).toEqual([]);

    const next = await claimed(store, { key: 'k' });
    await store.finish([finishRequest(next, 'completed', { response: large })]);
    bodies.remove();
    expect((await recordOf(store, next)).response).toEqual({ ...large, body: null });
  });
});

describe('expiry (F47, F48)', () => {
  it('only final records are deleted by TTL, and never before their life and their time as a tombstone end', async () => {
    const store = open();
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

  it('what TTL has not deleted acts as absent', async () => {
    let now = Date.UTC(2030, 0);
    const store = open({ now: () => now, monotonicNow: () => now });
    await finished(store, 'completed');
    now += RETENTION_MS;
    expect(describeResult(only(await store.claim([claimRequest()])))).toBe('claimed 1');
  });
});

describe('clocks of processes', () => {
  it('what was given back by a process whose clock is a little ahead is held back by that little, not by a whole pause', async () => {
    const ahead = open({ now: () => 1_000_300, monotonicNow: () => 0 });
    const behind = open({ now: () => 1_000_000, monotonicNow: () => 0 });
    // Both have read the shared time before the other wrote.
    await behind.claim([claimRequest({ key: 'other' })]);
    await finished(ahead, 'retryable');
    const found = only(await behind.claim([claimRequest()]));
    expect(found).toMatchObject({ kind: 'found', because: 'in-progress', claimLeftMs: 300 });
  });
});

describe('the audit', () => {
  it('a row is not lost when its process dies behind the act: the next writer or the reaper puts it into its place', async () => {
    const store = open();
    const reopened = await finished(store, 'failed', { key: 'reopened' });
    const dropped = await finished(store, 'retryable', { key: 'dropped' });
    // The act itself is a put under a condition; rows into their place are puts without one.
    meet = (operation, input, run) =>
      operation === 'putItem' && !('ConditionExpression' in (input as object))
        ? Promise.reject(named('killed', { code: 'ECONNREFUSED' }))
        : run();
    expect(only(await store.reopen([handRequest(reopened)])).kind).toBe('applied');
    expect(only(await store.forget([handRequest(dropped)])).kind).toBe('applied');
    meet = (_operation, _input, run) => run();
    const other = open();
    expect(await other.find([{ ...ID, key: 'dropped' }])).toEqual([null]);
    expect((await other.reap(10)).count).toBe(0);
    const acts = (await other.audit({})).map(({ act, key }) => `${act} ${key}`);
    expect(acts.toSorted()).toEqual(['forget dropped', 'reopen reopened']);
    expect(describeResult(only(await other.claim([claimRequest({ key: 'dropped' })])))).toBe('claimed 1');
  });
});

describe('the end of an attempt in the caller’s own transaction', () => {
  // Dynalite has no transactions: the element is written by itself, under its condition, as a transaction would.
  it('is one conditional put that renewals do not disturb, and a lost fence does', async () => {
    const store = open();
    const owner = await claimed(store);
    const end = await store.completionItem(finishRequest(owner, 'completed'));
    if (end.kind !== 'item') throw new Error(`expected an item, got ${end.kind}`);
    await store.renew([{ ...owner, claimTtlMs: 10_000 }]);
    const put = end.item.Put as unknown as Parameters<DynamoDB['putItem']>[0];
    await client.putItem(put);
    expect(await recordOf(store)).toMatchObject({ state: 'completed', response: ANSWER });
    await expect(client.putItem(put)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    expect((await store.completionItem(finishRequest(owner, 'completed'))).kind).toBe('already');
    const stranger = { ...owner, claimId: 'another' };
    expect((await store.completionItem(finishRequest(stranger, 'completed'))).kind).toBe('refused');
  });
});

describe('the table', () => {
  it('without keys, indexes or TTL it is refused with what mends it', async () => {
    await expect(open({ timeToLive: true }).ready()).rejects.toThrow(/updateTimeToLive\(timeToLiveInput/);
    const { GlobalSecondaryIndexes: _none, ...input } = createTableInput(`${tableName}-bare`);
    const AttributeDefinitions = input.AttributeDefinitions.slice(0, 2);
    await client.createTable({ ...input, AttributeDefinitions });
    await expect(open({ tableName: `${tableName}-bare` }).ready()).rejects.toMatchObject({
      code: 'ERR_SAMEKEY_SCHEMA',
      message: expect.stringContaining('samekey_open') as string,
    });
    expect(() => dynamodbStore({ client: {} as DynamoDbClient, tableName })).toThrow(/DynamoDB/);
  });
});
