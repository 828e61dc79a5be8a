/** The operator's commands on stores without tables, by their addresses: Redis and DynamoDB. */

import { Redis } from 'ioredis';
import { createSamekey, type Samekey, type Store } from 'samekey';
import { dynamodbStore } from 'samekey/stores/dynamodb';
import { redisStore } from 'samekey/stores/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  availableDynamoDb,
  dynamoClient,
  type DynamoDbServer,
  startDynamoDb,
} from '../../samekey/test/services/dynamodb.ts';
import { isRedisHere, type RedisServer, startRedis } from '../../samekey/test/services/redis.ts';
import { driver } from '../src/database/driver.ts';
import { byNodeRedis, openRedis } from '../src/database/open-redis.ts';
import { redisAddress } from '../src/database/store-address.ts';
import { said } from './migrating.ts';

// What the SDK says of the version of Node is not ours to judge.
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', NODE_NO_WARNINGS: '1' };

const call = { operation: 'pay', scope: ['tenant-1'], fingerprint: null };

/** An application with a key whose outcome nobody knows, and one that is answered. */
async function fill(store: Store): Promise<Samekey> {
  await store.ready();
  const samekey = createSamekey({ store, policy: 'payments' });
  await samekey
    .run({ ...call, key: 'k-1' }, () => {
      throw new Error('who knows');
    })
    .catch(() => undefined);
  await samekey.run({ ...call, key: 'k-2' }, () => ({ paid: true }));
  return samekey;
}

/**
 * What an operator does in an incident, with everything that is asked of an address. The application runs beside: in DynamoDB its
 * processes keep the time.
 */
async function operate(
  database: string,
  samekey: Samekey,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const asked = async (...args: readonly string[]): ReturnType<typeof said> =>
    said([...args, '--database', database], env);

  const listed = await asked('inspect');
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(listed.stdout).toMatch(/unknown[^]*completed|completed[^]*unknown/);

  await samekey.run({ ...call, key: 'k-3' }, () => ({ paid: true }));
  const words = ['--reason', 'declined there', '--actor', 'ada', '--yes'];
  const answer = ['--to', 'failed', '--status', '402', '--body', '{}'];
  expect(await asked('settle', 'k-1', ...answer, ...words)).toMatchObject({ code: 0, stderr: '' });
  expect(await asked('reopen', 'k-1', ...words)).toMatchObject({ code: 0, stderr: '' });
  expect(await asked('forget', 'k-2', ...words)).toMatchObject({ code: 0, stderr: '' });
  const audited = await asked('audit');
  expect(audited).toMatchObject({ code: 0, stderr: '' });
  for (const act of ['settle', 'reopen', 'forget']) expect(audited.stdout).toContain(act);
  expect(audited.stdout).toContain('ada');

  const erased = await asked('erase', 'tenant-1', ...words);
  expect(erased).toMatchObject({ code: 0, stderr: '' });
  expect(erased.stdout).toMatch(/records are erased/);
  expect(await asked('janitor', '--once')).toMatchObject({ code: 0, stderr: '' });
  expect((await asked('requeue')).stdout).toContain('No dead letters.');
  const doctor = await asked('doctor');
  expect(doctor.stderr).toBe('');
  expect(doctor.stdout).toMatch(/ok +schema/);
  expect(doctor.stdout).not.toContain('could not be looked at');

  const migrated = await asked('migrate', '--status');
  expect(migrated).toMatchObject({ code: 1, stdout: '' });
  expect(migrated.stderr).toMatch(/there is nothing to migrate|createTableInput/);
  const schema = await asked('inspect', '--schema', 'x');
  expect(schema).toMatchObject({ code: 1, stdout: '' });
  expect(schema.stderr).toContain('--schema goes with PostgreSQL');
}

describe.runIf(isRedisHere())('samekey on Redis, by its address', () => {
  let server: RedisServer;
  let client: Redis;
  let samekey: Samekey;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url, { socketTimeout: 2_000 });
    await client.flushall();
    // Another number of parts than the default: it is the server that says where the records lie.
    samekey = await fill(redisStore({ service: 'shop', client, durability: 'always', shards: 8 }));
  }, 60_000);
  afterAll(async () => {
    await samekey.close();
    client.disconnect();
    await server.stop();
  });

  it('every command of an operator works, or says why not', async () => {
    await operate(`${server.url.replace(/^redis:/, 'valkey:')}/0?service=shop`, samekey);
  }, 120_000);

  it('with node-redis as with ioredis; without either it says what to install', async () => {
    const address = redisAddress(`${server.url}?service=shop`, '--database');
    const { store, now, close } = await openRedis(address, [async () => null, byNodeRedis]);
    await store.ready();
    expect(Math.abs((await now()) - Date.now())).toBeLessThan(5_000);
    expect((await store.list({ limit: 1 })).length).toBe(1);
    await close();
    await expect(openRedis(address, [async () => null])).rejects.toThrow('npm install --save-dev ioredis');
    const gone = redisAddress('redis://127.0.0.1:1?service=shop', '--database');
    await expect(openRedis(gone, [byNodeRedis])).rejects.toThrow('cannot be asked');
  }, 60_000);

  it('looking for a service that is not there says so and leaves nothing behind', async () => {
    const before = await client.dbsize();
    const looked = await said(['inspect', '--database', `${server.url}?service=shob`]);
    expect(looked).toMatchObject({ code: 1, stdout: '' });
    expect(looked.stderr).toContain('says nothing of a service "shob"');
    expect(await client.dbsize()).toBe(before);
    const wrong = await said(['inspect', '--database', `${server.url}?service=shop&shards=64`]);
    expect(wrong.stderr).toContain('The records lie in 8 shards');
  }, 60_000);

  it('a server that is not there is told without the password', async () => {
    const looked = await said(['inspect', '--database', 'redis://:hunter22@127.0.0.1:1/0?service=shop']);
    expect(looked).toMatchObject({ code: 1, stdout: '' });
    expect(looked.stderr).toMatch(/^samekey: The Redis server 127\.0\.0\.1:1\/0 shop cannot be asked/);
    expect(looked.stderr).not.toContain('hunter22');
  }, 60_000);
});

describe.each(availableDynamoDb())('samekey on DynamoDB ($name), by its address', (source) => {
  let server: DynamoDbServer;
  let table: string;
  let parameters: string;
  let samekey: Samekey;
  let close: () => void;
  beforeAll(async () => {
    server = await startDynamoDb(source);
    table = await server.createTable();
    parameters = `?region=eu-central-1&endpoint=${server.url}`;
    const client = dynamoClient(server.url);
    close = () => client.destroy();
    samekey = await fill(dynamodbStore({ service: 'shop', client, tableName: table, timeToLive: false }));
  }, 60_000);
  afterAll(async () => {
    await samekey.close();
    close();
    await server.stop();
  });

  it('every command of an operator works, or says why not', async () => {
    await operate(`dynamodb://${table}${parameters}`, samekey, CREDENTIALS);
  }, 120_000);

  it('looking at a table of nobody says so and leaves it nobody\u2019s', async () => {
    const other = await server.createTable();
    const looked = await said(['inspect', '--database', `dynamodb://${other}${parameters}`], CREDENTIALS);
    expect(looked).toMatchObject({ code: 1, stdout: '' });
    expect(looked.stderr).toContain('belongs to no service yet');
    const client = dynamoClient(server.url);
    expect((await client.scan({ TableName: other })).Items).toEqual([]);
    client.destroy();
    const missing = await said(['inspect', '--database', `dynamodb://nowhere${parameters}`], CREDENTIALS);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toContain('cannot be asked');
  }, 60_000);
});

/** As Node says it where a package is not installed. */
function absent(name: string): () => Promise<unknown> {
  return async () => {
    throw Object.assign(new Error(`Cannot find package '${name}' imported from here`), {
      code: 'ERR_MODULE_NOT_FOUND',
    });
  };
}

describe('addresses of stores without tables', () => {
  it.each([
    ['redis://localhost/0', 'names no service'],
    ['redis://localhost/0?service=shop&db=1', 'has a parameter "db" that nothing reads'],
    ['redis://localhost/0?service=shop&shards=0', 'shards is a whole number'],
    ['redis://user:hunter2/3@host:6379/0?service=shop', 'is not a Redis URL that can be read'],
    ['redis://user:p@ssw0rd?hunter2@host:6379/0?service=orders', 'is not a Redis URL that can be read'],
    ['redis//user:hunter2@host:6379', 'looks like a URL that cannot be read'],
    ['dynamodb://ab?region=x', 'is not an address of a DynamoDB table'],
    ['dynamodb://:hunter2@records', 'is not an address of a DynamoDB table'],
    ['dynamodb://key:hunter2@records', 'is not an address of a DynamoDB table'],
    ['dynamodb://records?endpoint=localhost', 'endpoint is an http or https URL'],
    ['dynamodb://records?table=x', 'has a parameter "table" that nothing reads'],
  ])(
    '%s is refused, without its password',
    async (database, message) => {
      const looked = await said(['inspect', '--database', database]);
      expect(looked).toMatchObject({ code: 1, stdout: '' });
      expect(looked.stderr).toContain(message);
      expect(looked.stderr).not.toContain('hunter2');
    },
    30_000,
  );

  it('a driver that is not installed is null; one that fails for another reason fails', async () => {
    expect(await driver('ioredis', absent('ioredis'))).toBeNull();
    await expect(driver('ioredis', absent('its-own-dependency'))).rejects.toThrow('its-own-dependency');
    expect(await driver('ioredis', async () => 'it')).toBe('it');
  });
});
