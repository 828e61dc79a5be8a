/**
 * The distributed store on a PostgreSQL that has less: its role may not call a lock function, the proxy in between refuses whatever
 * CockroachDB, YugabyteDB or Citus lack, and five statements of a hundred are answered with 40001 without being done. A real
 * server, real refusals; what of those engines is not reached so stands in docs/guides/distributed-postgresql.md.
 */

import { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isStoreError, type StoreError } from '../../src/core/errors.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import {
  type DistributedPostgresStore,
  distributedPostgresStore,
} from '../../src/stores/postgres/distributed/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  handRequest,
  ID,
  only,
  recordOf,
  settleRequest,
} from '../../../testing/src/contract/context.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { seedOf } from '../races/seed.ts';
import { type FaultProxy, startFaultProxy } from '../services/fault-proxy.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { LACKING, type Restrictions, restrictedWire } from '../services/restricted-wire.ts';
import { partOf } from './slice.ts';
import { CLIENTS } from './postgres-clients.ts';
import { distributedHarness } from './postgres-distributed-harness.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('a PostgreSQL with less', () => {
  const random = createRandom(seedOf('conflicts'));
  const rules: Restrictions = {
    refused: LACKING,
    conflictPercent: 0,
    random: () => random.next(),
    answers: [],
    refusals: [],
    conflicts: 0,
    passed: 0,
  };
  let server: PostgresServer;
  let proxy: FaultProxy;
  let direct = '';
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source);
    direct = await server.createDatabase();
    const admin = new Client({ connectionString: direct });
    await admin.connect();
    await admin.query('CREATE ROLE less LOGIN');
    const { rows } = await admin.query<{ signature: string }>(
      "SELECT oid::regprocedure::text AS signature FROM pg_proc WHERE proname ~ 'advisory|notify'",
    );
    for (const { signature } of rows)
      await admin.query(`REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC`);
    await admin.query('CREATE SCHEMA less AUTHORIZATION less');
    await admin.end();
    const url = new URL(direct);
    url.username = 'less';
    proxy = await startFaultProxy(url.href, () => restrictedWire(rules));
  });
  afterEach(async () => {
    rules.answers = [];
    await Promise.all(ends.splice(0).map((end) => end()));
  });
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  async function fresh(): Promise<DistributedPostgresStore> {
    const admin = new Client({ connectionString: direct });
    await admin.connect();
    await admin.query('DROP SCHEMA IF EXISTS less CASCADE');
    await admin.query('CREATE SCHEMA less AUTHORIZATION less');
    await admin.end();
    const pool = new Pool({ connectionString: proxy.url });
    const store = distributedPostgresStore({ service: 'test', pool, engine: 'other', schema: 'less' });
    ends.push(
      () => store.close(),
      () => pool.end(),
    );
    await store.migrate();
    await store.ready();
    return store;
  }

  const [pg] = CLIENTS;
  if (pg !== undefined) {
    describe('with conflicts by chance', () => {
      beforeAll(() => {
        rules.conflictPercent = 5;
      });
      afterAll(() => {
        rules.conflictPercent = 0;
      });
      storeContract(
        partOf('a PostgreSQL with less', false),
        distributedHarness(
          {
            name: 'a PostgreSQL with less',
            engine: 'other',
            owner: 'less',
            url: () => proxy.url,
            adminUrl: () => direct,
          },
          pg,
        ),
      );
      it('nothing it said was refused, and conflicts were met', () => {
        expect(rules.refusals).toEqual([]);
        expect(rules.conflicts).toBeGreaterThan(0);
        console.info(`${rules.passed} statements let through, ${rules.conflicts} conflicts, none refused`);
      });
    });
  }

  it('the store for PostgreSQL itself is refused here, so the proxy does refuse', async () => {
    const pool = new Pool({ connectionString: proxy.url });
    const store = postgresStore({ service: 'test', pool, schema: 'less' });
    ends.push(
      () => store.close(),
      () => pool.end(),
    );
    const error = (await store.migrate().catch((thrown: unknown) => thrown)) as StoreError;
    expect((error.cause as { code?: string }).code).toBe('0A000');
    expect(rules.refusals.splice(0).join('\n')).toMatch(/advisory/);
  });

  it('the role may not lock by a function either', async () => {
    const url = new URL(direct);
    url.username = 'less';
    const client = new Client({ connectionString: url.href });
    await client.connect();
    await expect(client.query('SELECT pg_advisory_xact_lock(1)')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });

  it('a statement that meets four conflicts is sent a fifth time, and done once', async () => {
    const store = await fresh();
    const conflict = {
      statement: /^INSERT INTO [^(]*plain_records/,
      code: '40001',
      applied: false,
      times: 4,
    };
    rules.answers = [conflict];
    const owner = await claimed(store);
    expect(conflict.times).toBe(0);
    rules.answers = [{ statement: /^UPDATE /, code: '40001', applied: false, times: 4 }];
    expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
    expect((await recordOf(store)).response).toEqual(ANSWER);
  });

  it('conflicts without end are told after five tries, as not applied', async () => {
    const store = await fresh();
    const conflict = {
      statement: /^INSERT INTO [^(]*plain_records/,
      code: '40001',
      applied: false,
      times: 100,
    };
    rules.answers = [conflict];
    const error = (await store.claim([claimRequest()]).catch((thrown: unknown) => thrown)) as StoreError;
    expect(isStoreError(error)).toBe(true);
    expect(error.applied).toBe('no');
    expect(conflict.times).toBe(95);
    expect(await store.find([ID])).toEqual([null]);
  });

  it('a transaction of the store that meets a conflict is done again from its beginning', async () => {
    const store = await fresh();
    const owner = await finished(store, 'unknown');
    rules.answers = [
      { statement: /^INSERT INTO [^(]*plain_audit/, code: '40001', applied: false, times: 1 },
      { statement: /^COMMIT/, code: '40001', applied: false, times: 1 },
    ];
    expect(only(await store.settle([settleRequest(owner, 'completed')])).kind).toBe('applied');
    expect((await store.audit({})).map(({ act }) => act)).toEqual(['settle']);
    expect(rules.answers.map(({ times }) => times)).toEqual([0, 0]);
  });

  // F15: CockroachDB says 40003 when it does not know; a cancelled statement may have been committed by another node.
  for (const code of ['40003', '57014', '57P01', '08006', 'XXUUU']) {
    it.each([true, false])(
      `${code} is unclear, and the repeat tells what became of it (applied: %s)`,
      async (applied) => {
        const store = await fresh();
        const request = claimRequest();
        rules.answers = [{ statement: /^INSERT INTO [^(]*plain_records/, code, applied, times: 1 }];
        const error = (await store.claim([request]).catch((thrown: unknown) => thrown)) as StoreError;
        expect(error.applied).toBe('unknown');
        const again = only(await store.claim([request]));
        expect(again.kind).toBe('claimed');
        const owner = { ...ID, claimId: request.claimId, attempt: 1 };
        rules.answers = [{ statement: /^UPDATE /, code, applied, times: 1 }];
        const lost = (await store
          .finish([finishRequest(owner, 'completed')])
          .catch((thrown: unknown) => thrown)) as StoreError;
        expect(lost.applied).toBe('unknown');
        const { kind } = only(await store.finish([finishRequest(owner, 'completed')]));
        expect(kind).toBe(applied ? 'already' : 'applied');
        expect((await recordOf(store)).response).toEqual(ANSWER);
      },
    );
  }

  it('an act by hand whose COMMIT is unclear is there with its row, or without both', async () => {
    for (const applied of [true, false]) {
      const store = await fresh();
      const owner = await finished(store, 'failed');
      rules.answers = [{ statement: /^COMMIT/, code: '40003', applied, times: 1 }];
      const error = (await store
        .reopen([handRequest(owner)])
        .catch((thrown: unknown) => thrown)) as StoreError;
      expect(error.applied).toBe('unknown');
      const acts = (await store.audit({})).map(({ act }) => act);
      expect(acts).toEqual(applied ? ['reopen'] : []);
      expect((await recordOf(store)).state).toBe(applied ? 'retryable' : 'failed');
    }
  });
});
