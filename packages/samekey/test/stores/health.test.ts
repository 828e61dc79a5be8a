/**
 * Every real store that is not migrated, not there, or not what it should be: without a call of `ready()` each request is answered 503, and
 * the process's log has one warning, which says what mends it (F98).
 */

import { writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import Libsql from 'libsql';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { createSamekey } from '../../src/samekey.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { systemWorld } from '../../src/system.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { temporaryFile } from './sqlite-clients.ts';

/** A port that nobody listens on. */
const NOBODY = '127.0.0.1:1';

/** Three requests, and what the log has of them. */
async function warned(store: Store): Promise<readonly string[]> {
  const warnings: string[] = [];
  const world = {
    ...systemWorld(),
    warn: (code: string, message: string) => void warnings.push(`${code}: ${message}`),
  };
  const samekey = createSamekey({ store, world, policy: 'standard' });
  for (const key of ['a', 'b', 'c']) {
    const outcome = await samekey.run({ operation: 'o', scope: ['a'], key, fingerprint: null }, () => 1);
    expect(outcome.kind).toBe('unavailable');
  }
  await samekey.close();
  return warnings.filter((text) => text.startsWith('store-'));
}

// F98
describe('a store that nobody has made ready is told of once, with its mend', () => {
  it('SQLite without tables', async () => {
    const file = temporaryFile();
    const database = new Libsql(file.path);
    const told = await warned(sqliteStore({ service: 'test', database }));
    database.close();
    file.remove();
    expect(told).toEqual([expect.stringMatching(/^store-down: .*store\.migrate\(\).*samekey migrate/)]);
  });

  it('SQLite on a file that is no database', async () => {
    const file = temporaryFile();
    writeFileSync(file.path, 'this is a text and no database, whatever its name says. '.repeat(40));
    const database = new Libsql(file.path);
    const told = await warned(sqliteStore({ service: 'test', database }));
    database.close();
    file.remove();
    expect(told).toEqual([expect.stringMatching(/^store-down: .*not an SQLite database.*path/)]);
  });

  it('PostgreSQL, MySQL and Redis that are not there', async () => {
    const stores: readonly Store[] = [
      postgresStore({
        service: 'test',
        connect: () => new Client({ connectionString: `postgres://u@${NOBODY}/d` }),
      }),
      mysqlStore({ service: 'test', connect: () => createConnection(`mysql://u@${NOBODY}/d`) }),
    ];
    for (const store of stores) {
      const told = await warned(store);
      await store.close();
      expect([store.name, told]).toEqual([
        store.name,
        [expect.stringMatching(/^store-down: .*check that it is up and can be reached/)],
      ]);
    }
    const client = new Redis(`redis://${NOBODY}`, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: null,
    });
    client.on('error', () => undefined);
    const told = await warned(redisStore({ service: 'test', client, durability: 'none' }));
    client.disconnect();
    expect(told).toEqual([expect.stringMatching(/^store-down: /)]);
  });
});

const source = anyPostgres();
describe.runIf(source !== undefined)('PostgreSQL without tables', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    if (source !== undefined) server = await startPostgres(source);
  }, 60_000);
  afterAll(() => server.stop());

  // F98
  it('is told of once, with its mend', async () => {
    const url = await server.createDatabase();
    const store = postgresStore({ service: 'test', connect: () => new Client({ connectionString: url }) });
    const told = await warned(store);
    await store.close();
    expect(told).toEqual([expect.stringMatching(/^store-down: .*store\.migrate\(\).*samekey migrate/)]);
  });
});

describe.each(availableMysql().slice(0, 1))('$name without tables', (mysql) => {
  let server: MysqlServer;
  beforeAll(async () => {
    server = await startMysql(mysql);
  }, 60_000);
  afterAll(() => server.stop());

  // F98
  it('is told of once, with its mend', async () => {
    const url = await server.createDatabase();
    const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
    const told = await warned(store);
    await store.close();
    expect(told).toEqual([expect.stringMatching(/^store-down: .*store\.migrate\(\).*samekey migrate/)]);
  });
});
