/**
 * The distributed store holds the contract: on PostgreSQL with postgres.js (with pg: postgres-restricted.test.ts), and on Citus with
 * both clients where its URL is given.
 */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimRequest, ID, recordOf } from '../../../testing/src/contract/context.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { citusUrl } from '../services/citus.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { CLIENTS } from './postgres-clients.ts';
import { distributedHarness } from './postgres-distributed-harness.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('on PostgreSQL', () => {
  let server: PostgresServer;
  let url = '';
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source);
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  for (const client of CLIENTS.filter(({ name }) => name === 'postgres.js')) {
    storeContract(
      { describe, it },
      distributedHarness({ name: source?.name ?? '', engine: 'other', url: () => url }, client),
    );
  }
});

const citus = citusUrl();

describe.runIf(source !== undefined)('a call of several rows', () => {
  it('of which one can never be stored says that others may have been, and finds it by halving', async () => {
    const server = await startPostgres(source ?? expect.fail('no server'));
    const [client] = CLIENTS;
    const target = { name: '', engine: 'other', url: () => url } as const;
    const url = await server.createDatabase();
    const made = await distributedHarness(target, client ?? expect.fail('no client')).create();
    const { store } = made;
    try {
      // No index holds it, however it is compressed.
      const key = randomBytes(6_000).toString('hex');
      const requests = [claimRequest({ key: 'good' }), claimRequest({ key })];
      await expect(store.claim(requests)).rejects.toMatchObject({ applied: 'unknown', transient: false });
      expect((await recordOf(store, { ...ID, key: 'good' })).state).toBe('in_progress');
      await expect(store.claim(requests.slice(1))).rejects.toMatchObject({ applied: 'no', transient: false });
    } finally {
      await made.close();
      await server.stop();
    }
  });
});

describe.runIf(citus !== undefined)('on Citus', () => {
  for (const client of CLIENTS) {
    storeContract(
      { describe, it },
      distributedHarness({ name: 'Citus', engine: 'citus', url: () => citus ?? '' }, client),
    );
  }
});
