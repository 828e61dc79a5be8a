/** Webhooks find their record by references: what of others is not read, what has ended is found, and what is past decides nothing. */

import * as mysql2 from 'mysql2/promise';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StoreWithMessages } from '../../src/store/message.ts';
import { referenceOf } from '../../src/store/references.ts';
import { readSteps } from '../../src/ways/steps.ts';
import type { Store } from '../../src/store/store.ts';
import { callerScope, createSamekey, reply } from '../../src/index.ts';
import { createReconciler, type Told } from '../../src/reconcile/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { systemWorld } from '../../src/system.ts';
import { claimRequest, eraseRequest, finishRequest } from '../../../testing/src/contract/context.ts';
import { FAKE_WALL_START, fakeWorld } from '../../../testing/src/index.ts';
import { message, take } from '../../../testing/src/outbox/bench.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';
import { createBench } from './bench.ts';

const PAID = { kind: 'completed', answer: reply(201, { id: 'ch_1' }) } as const;
const DECLINED = { kind: 'failed', answer: reply(402, { code: 'declined' }) } as const;
const NONE = { kind: 'no-effect' } as const;
const TOOK = { kind: 'took-effect', result: 'ch_7' } as const;

const told = (verdict: Told['verdict'], providerId: string, operation = 'order'): Told => ({
  by: { providerId, operation },
  verdict,
  source: 'webhook:bank',
});

const BODY_BYTES = 64 * 1024;
const MANY = 100;

/** A store, what its driver has read so far, and how many references there are. */
interface Counted {
  readonly store: Store & StoreWithMessages;
  bytesRead(): number;
  references(): Promise<number>;
}

const toEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of toEnd.splice(0).toReversed()) await end();
});

const COUNT = 'SELECT count(*) AS n FROM samekey_references';

async function sqlite(): Promise<Counted> {
  const [client] = availableClients();
  const file = temporaryFile();
  const database = (client as NonNullable<typeof client>).open(file.path);
  toEnd.push(
    () => file.remove(),
    () => database.close(),
  );
  let bytes = 0;
  const counting = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown => {
          const result: unknown = value.apply(of, given);
          if (name === 'prepare') return counting(result as object);
          if (name === 'get' || name === 'all') bytes += bytesOf(result);
          return result;
        };
      },
    });
  const store = sqliteStore({ service: 'test', database: counting(database) });
  await store.migrate();
  await store.ready();
  const count = database.prepare(COUNT) as unknown as { get(): { n: number } };
  return { store, bytesRead: () => bytes, references: async () => Number(count.get().n) };
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, each) => sum + bytesOf(each), 0);
}

/** An effect whose call has noted its id, as steps. */
function noted(providerId: string): string {
  const call = { attempt: 1, rule: 'reconcile', timeMaxMs: 1_000, providerId };
  return JSON.stringify({ v: 1, steps: [{ kind: 'effect', name: 'charge', input: 'i', done: null, call }] });
}

/** Requests of `order` with large inputs: handed over, in messages with large payloads, and in the middle of their call. */
async function fill({ store }: Counted): Promise<void> {
  const input = new Uint8Array(BODY_BYTES).fill(7);
  const payload = JSON.stringify('x'.repeat(BODY_BYTES));
  const keys = Array.from({ length: MANY }, (_, i) => `k-${i}`);
  const claims = keys.map((key) =>
    claimRequest({ scope: 't|order', operation: 'order', key, input, claimTtlMs: 600_000 }),
  );
  await store.claim(claims);
  const owners = claims.map(({ scope, key, claimId }) => ({ scope, key, claimId, attempt: 1 }));
  const handedOver = owners.slice(0, MANY / 2);
  await store.messages.enqueue(
    handedOver.map((owner) => message({ payload, owner, reference: `sent ${owner.key}` })),
  );
  const taken = await take(store.messages, { limit: MANY });
  await store.messages.note(taken.map((each) => ({ ...each, providerId: `of ${each.id}` })));
  await store.checkpoint(
    owners.slice(MANY / 2).map((owner) => ({
      ...owner,
      claimTtlMs: 600_000,
      recoveryPoint: null,
      steps: noted(`pi_${owner.key}`),
      intentOpen: true,
      reference: { reference: `intent ${owner.key}`, effect: 'charge' },
    })),
  );
}

function references(name: string, open: () => Promise<Counted>): void {
  // F154
  it(`a foreign webhook reads no body of others: ${name}`, async () => {
    const counted = await open();
    await fill(counted);
    const reconciler = createReconciler({
      store: counted.store,
      operations: { order: { inquire: async () => ({ kind: 'not-known' }) } },
    });
    // Connections are opened, and statements prepared.
    await reconciler.tell(told(PAID, 'pi_of_another'));
    const before = counted.bytesRead();
    expect(before).toBeGreaterThan(0);
    for (const by of [{ providerId: 'pi_of_another', operation: 'order' }, { downstreamKey: 'of another' }])
      expect(await reconciler.tell({ by, verdict: PAID, source: 'webhook:bank' })).toEqual({
        kind: 'not-known-here',
      });
    // Fifty open intents, some 300 bytes each, and not one of two hundred bodies of 64 KiB.
    expect(counted.bytesRead() - before).toBeLessThan(BODY_BYTES);
  });

  it(`what is erased or reaped leaves no row: ${name}`, async () => {
    const counted = await open();
    const { store } = counted;
    const claims = ['erased', 'reaped', 'kept'].map((key) =>
      claimRequest({ scope: `${key}|order`, operation: 'order', key, retentionMs: 1, replayMinMs: 1 }),
    );
    await store.claim(claims);
    for (const { scope, key, claimId } of claims) {
      const owner = { scope, key, claimId, attempt: 1 };
      const checkpoint = { ...owner, claimTtlMs: 60_000, recoveryPoint: null, steps: noted('p') };
      const reference = { reference: `of ${key}`, effect: 'charge' };
      await store.checkpoint([{ ...checkpoint, intentOpen: true, reference }]);
      await store.checkpoint([{ ...checkpoint, intentOpen: false }]);
      if (key !== 'kept') await store.finish([finishRequest(owner, 'completed')]);
    }
    expect(await counted.references()).toBe(3);
    await store.erase(eraseRequest(callerScope(['erased'])));
    expect(await counted.references()).toBe(2);
    await expect.poll(async () => (await store.reap(10)).count).toBe(1);
    expect(await counted.references()).toBe(1);
  });
}

describe.runIf(availableClients().length > 0)('references on SQLite', () => references('sqlite', sqlite));

for (const source of availablePostgres().slice(0, 1)) {
  describe('references on PostgreSQL', () => {
    const { database } = useServer(source);
    references(source.name, async () => {
      const db = await database();
      const clients: Client[] = [];
      const store = await db.store({
        connect() {
          const client = new Client({ connectionString: db.url });
          clients.push(client);
          return client;
        },
      });
      const admin = await db.session();
      return {
        store,
        bytesRead: () =>
          clients.reduce((sum, client) => sum + ((client as WithStream).connection.stream.bytesRead ?? 0), 0),
        references: async () => Number((await admin.query<{ n: string }>(COUNT)).rows[0]?.n),
      };
    });
  });
}

for (const source of availableMysql().slice(0, 1)) {
  describe('references on MySQL', () => {
    let server: MysqlServer | undefined;
    beforeAll(async () => {
      server = await startMysql(source);
    });
    afterAll(() => server?.stop());
    references(source.name, async () => {
      const url = await (server as MysqlServer).createDatabase();
      const sockets: { readonly bytesRead?: number }[] = [];
      const store = mysqlStore({
        service: 'test',
        async connect() {
          const connection = await mysql2.createConnection(url);
          sockets.push((connection as unknown as WithSocket).connection.stream);
          return connection;
        },
      });
      await store.migrate();
      const admin = await mysql2.createConnection(url);
      toEnd.push(
        () => admin.end(),
        () => store.close(),
      );
      return {
        store,
        bytesRead: () => sockets.reduce((sum, { bytesRead = 0 }) => sum + bytesRead, 0),
        async references() {
          const [rows] = await admin.query(COUNT);
          return Number((rows as { readonly n: number }[])[0]?.n);
        },
      };
    });
  });
}

/** The socket of mysql2. */
interface WithSocket {
  readonly connection: { readonly stream: { readonly bytesRead?: number } };
}

/** The socket of pg. */
type WithStream = Client & { readonly connection: { readonly stream: { readonly bytesRead?: number } } };

describe('a webhook after the end', () => {
  // F141, F154
  it('finds its record by the provider’s id and by the key, and says what contradicts', async () => {
    const bench = createBench();
    await bench.open();
    const reconciler = bench.reconciler();
    await reconciler.run();
    const downstreamKey = bench.asked[0]?.inquiry.effect?.downstreamKey ?? '';
    expect(await reconciler.tell(told(PAID, 'pi_k'))).toEqual({ kind: 'applied', to: 'completed' });
    for (const by of [{ providerId: 'pi_k', operation: 'order' }, { downstreamKey }]) {
      const word = { by, source: 'webhook:bank' };
      expect(await reconciler.tell({ ...word, verdict: PAID })).toEqual({
        kind: 'already',
        state: 'completed',
      });
      expect(await reconciler.tell({ ...word, verdict: NONE })).toEqual({
        kind: 'contradiction',
        found: 'completed',
      });
    }
    const acts = await bench.store.audit({ acts: ['contradiction'] });
    expect(acts.map(({ key, actor }) => `${key} ${actor}`)).toEqual(['k webhook:bank', 'k webhook:bank']);
  });
});

/** An operation of two calls; each notes what it is given, and then ends as it is told. */
function twoCalls() {
  const world = fakeWorld({ seed: 5 });
  const store = memoryStore({ now: () => FAKE_WALL_START + world.timeline.now });
  const samekey = createSamekey({ store, world, replayCacheBytesMax: 0, claimTtlMs: 10_000 });
  const calls: Record<string, (note: (id: string) => Promise<void>) => Promise<string>> = {};
  const order = samekey.phased({
    name: 'order',
    async run(_input: null, attempt) {
      const rule = { rule: 'reconcile', callTimeMaxMs: 1_000 } as const;
      await attempt.effect<string>(
        'reserve',
        ({ noteProviderId }) => calls['reserve']?.(noteProviderId) as never,
        rule,
      );
      return attempt.effect<string>(
        'charge',
        ({ noteProviderId }) => calls['charge']?.(noteProviderId) as never,
        rule,
      );
    },
  });
  const reconciler = createReconciler({
    store,
    world,
    operations: { order: { inquire: async () => ({ kind: 'not-known' }), callTimeMaxMs: 1_000 } },
  });
  const run = () => order.run({ scope: ['t'], key: 'k', input: null });
  const record = async () =>
    (await store.list({}))[0] as NonNullable<Awaited<ReturnType<typeof store.list>>[0]>;
  return { world, store, calls, reconciler, run, record };
}

/** A call that notes the provider's id, and of whose end nobody hears. */
function breaksAfter(id: string) {
  return async (note: (id: string) => Promise<void>): Promise<string> => {
    await note(id);
    throw new Error('the line broke');
  };
}

describe('a webhook about a call that is past', () => {
  it('decides nothing about the one that is open', async () => {
    const { calls, reconciler, run, record } = twoCalls();
    calls['reserve'] = async (note) => {
      await note('re_1');
      return 'reserved';
    };
    calls['charge'] = async (note) => {
      await note('pi_1');
      throw new Error('the line broke');
    };
    expect(await run()).toMatchObject({ kind: 'unknown' });
    expect(await reconciler.tell(told(TOOK, 're_1'))).toEqual({ kind: 'already', state: 'unknown' });
    expect(await reconciler.tell(told(PAID, 're_1'))).toEqual({ kind: 'already', state: 'unknown' });
    for (const verdict of [NONE, DECLINED])
      expect(await reconciler.tell(told(verdict, 're_1'))).toEqual({ kind: 'not-yet', state: 'unknown' });
    expect(readSteps((await record()).steps)).toMatchObject([
      { name: 'reserve' },
      { name: 'charge', done: null },
    ]);
    expect(await reconciler.tell(told(TOOK, 'pi_1'))).toEqual({ kind: 'applied', to: 'retryable' });
    expect(await run()).toMatchObject({ kind: 'executed', value: 'ch_7' });
    expect(await reconciler.tell(told(NONE, 're_1'))).toEqual({ kind: 'contradiction', found: 'completed' });
  });

  it('of an attempt of which somebody has said that nothing happened contradicts, and settles no other', async () => {
    const { world, store, calls, reconciler, run, record } = twoCalls();
    calls['reserve'] = async () => 'reserved';
    calls['charge'] = breaksAfter('pi_1');
    await run();
    await world.advance(20_000);
    expect(await reconciler.tell(told(NONE, 'pi_1'))).toEqual({ kind: 'applied', to: 'retryable' });
    calls['charge'] = breaksAfter('pi_2');
    expect(await run()).toMatchObject({ kind: 'unknown' });
    expect(await reconciler.tell(told(PAID, 'pi_1'))).toEqual({ kind: 'contradiction', found: 'unknown' });
    expect(await reconciler.tell(told(DECLINED, 'pi_1'))).toEqual({ kind: 'not-yet', state: 'unknown' });
    expect(await record()).toMatchObject({ state: 'unknown', attempt: 2 });
    expect(await store.audit({ acts: ['contradiction'] })).toHaveLength(1);
    expect(await reconciler.tell(told(PAID, 'pi_2'))).toEqual({ kind: 'applied', to: 'completed' });
  });
});

it('a reference is one of its kind, and a digest', async () => {
  const world = systemWorld();
  const [key, id] = [
    await referenceOf(world, 'downstream-key', 'x'),
    await referenceOf(world, 'provider-id', 'x'),
  ];
  expect(key).toMatch(/^[\w-]{43}$/);
  expect(key).not.toBe(id);
});
