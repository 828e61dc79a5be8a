/**
 * The options walk (F87): a misspelt member is refused at every depth of every options object that an entry exports.
 *
 * What there is to try is read from the types: an exported interface of options that is not in the list below fails, and its sample shows
 * each nested options object.
 */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import { walk } from 'oxc-walker';
import { describe, expect, it } from 'vitest';
import { coverage } from 'samekey/coverage';
import { idempotent as expressOf } from 'samekey/express';
import { idempotent as fastifyOf } from 'samekey/fastify';
import { ietf, idempotent as fetchOf, serve, serveStatus } from 'samekey/fetch';
import { createLimits, timeSigner, withBreaker } from 'samekey/guard';
import { idempotent as honoOf } from 'samekey/hono';
import { createJanitor } from 'samekey/janitor';
import { logEvents, traceEvents, meterEvents } from 'samekey/metrics';
import { idempotent as nodeOf } from 'samekey/node';
import { idempotencyPage } from 'samekey/openapi';
import { createOperator } from 'samekey/operator';
import { createOutbox } from 'samekey/outbox';
import { compareLedgers, createReconciler } from 'samekey/reconcile';
import { keyRing, sealed } from 'samekey/seal';
import { dynamodbStore, s3Bodies } from 'samekey/stores/dynamodb';
import { memoryStore } from 'samekey/stores/memory';
import { mysqlMigrations, mysqlStore } from 'samekey/stores/mysql';
import { postgresMigrations, postgresStore } from 'samekey/stores/postgres';
import 'reflect-metadata';
import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { distributedMigrations, distributedPostgresStore } from 'samekey/stores/postgres/distributed';
import { redisStore } from 'samekey/stores/redis';
import { sqliteMigrations, sqliteStore } from 'samekey/stores/sqlite';
import { redisCache, redisHints, tieredStore } from 'samekey/stores/tiered';
import { fromDrizzle } from 'samekey/tx/drizzle';
import { fromDynamodb } from 'samekey/tx/dynamodb';
import { fromKnex } from 'samekey/tx/knex';
import { fromKysely } from 'samekey/tx/kysely';
import { fromMariadb } from 'samekey/tx/mariadb';
import { fromMysql2 } from 'samekey/tx/mysql2';
import { fromPg } from 'samekey/tx/pg';
import { fromPostgresJs } from 'samekey/tx/postgres-js';
import { fromPrisma } from 'samekey/tx/prisma';
import { fromTypeorm } from 'samekey/tx/typeorm';
import { verify } from '@samekey/cli/verify';
import { idempotent as lambdaOf } from 'samekey/lambda';
import { idempotentAction, idempotent as nextOf, serve as serveOnNext } from 'samekey/next';
import { Idempotent, SamekeyModule } from 'samekey/nestjs';
import { serveRows } from 'samekey/rows';
import { idempotent as trpcOf, serve as serveOnTrpc, serveStatus as statusOnTrpc } from 'samekey/trpc';
import {
  idempotent as graphqlOf,
  serve as serveOnGraphql,
  serveStatus as statusOnGraphql,
} from 'samekey/graphql';
import { createWorker } from 'samekey/worker';
import { createSamekey } from 'samekey';
import { createOrphans } from '../../src/stores/dynamodb/orphans.ts';
import { newMessage } from '../../src/store/new-message.ts';
import { checkRule } from '../../src/ways/effect.ts';
import { observe } from '../../src/metrics/observe.ts';
import { bestPending } from '../../../client/src/browser/index.ts';
import { createClient } from '../../../client/src/index.ts';
import { intentOf } from '../../../client/src/intent.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const store = memoryStore();
const samekey = createSamekey({ store });
const plain = samekey.plain({ name: 'walked', policy: 'standard', run: () => 1 });
const KEY = new Uint8Array(32);
const any = {} as never;
const run = (): number => 1;

/** Objects by names of the user's own, in which no name can be wrong. */
const names = new WeakSet<object>();
function byName<Value extends object>(value: Value): Value {
  names.add(value);
  return value;
}

const secrets = { current: 'a', keys: byName({ a: KEY }) };
const fingerprint = {
  version: '1',
  headers: ['X-Currency'],
  secrets,
  formerly: [{ omit: ['/a'], secrets, formerly: [{ omit: ['/b'] }] }],
};
const route = {
  policy: {
    name: 'own',
    verdicts: {
      success: 'completed',
      finalRefusal: 'failed',
      passingRefusal: 'retryable',
      requestTimeout: 'unknown',
      serverError: 'unknown',
      gatewayError: 'unknown',
      threw: 'unknown',
      rolledBack: 'retryable',
    },
  },
  scope: () => 'acme',
  key: { uuidOnly: true },
  fingerprint,
  freshness: { secrets: byName({ a: KEY }), windowMs: 1_000 },
  firstSent: { windowMs: 1_000 },
  dialect: { name: 'own', operation: { tombstoneMs: 1 }, route: { keyIn: { body: '/key' } } },
};
const { policy: _policy, ...served } = route;
/** A call has no time of its own, and no dialect. */
const { freshness: _freshness, firstSent: _firstSent, dialect: _dialect, ...call } = { ...route, keyIn: run };
const { policy: _ofCall, ...servedCall } = call;

type Take = (options: never) => unknown;
type From = (library: never, options: never) => unknown;
type Row = readonly [type: string, sample: object, ...takes: readonly Take[]];

/** A controller of Nest, made by Nest: its options are read when it has both parts of them. */
async function onNest(common: object, own: object): Promise<unknown> {
  class Payments {
    pay(): void {}
  }
  // oxlint-disable-next-line typescript/no-extraneous-class -- Nest knows a module by its class
  class Application {}
  const method = Object.getOwnPropertyDescriptor(Payments.prototype, 'pay') as PropertyDescriptor;
  Idempotent(own as never)(Payments.prototype, 'pay', method as never);
  Object.defineProperty(Payments.prototype, 'pay', method);
  Post()(Payments.prototype, 'pay', method);
  Controller('payments')(Payments);
  Module({ imports: [SamekeyModule.forRoot(common as never)], controllers: [Payments] })(Application);
  const context = await NestFactory.createApplicationContext(Application, {
    logger: false,
    abortOnError: false,
  });
  return context.close();
}

const ROWS: readonly Row[] = [
  ['LambdaOptions', route, (own: never) => lambdaOf(samekey, own, run as never)],
  ['NextOptions', { ...route, waitUntil: run }, (own: never) => nextOf(samekey, own, run as never)],
  [
    'NextServeOptions',
    { ...served, input: run, waitUntil: run },
    (own: never) => serveOnNext(plain as never, own),
  ],
  [
    'ActionOptions',
    { ...call, name: 'pay', input: run, refused: run },
    (own: never) => idempotentAction(samekey, own, run as never),
  ],
  ['TrpcOptions', { ...call, http: run, statusOf: run }, (own: never) => trpcOf(samekey, own)],
  [
    'TrpcServeOptions',
    { ...servedCall, input: run, pending: run },
    (own: never) => serveOnTrpc(plain as never, own),
  ],
  ['TrpcStatusOptions', { scope: () => 'acme', key: run }, (own: never) => statusOnTrpc(plain, own)],
  [
    'GraphqlOptions',
    { ...call, request: run, setHeader: run },
    (own: never) => graphqlOf(samekey, own, run as never),
  ],
  [
    'GraphqlServeOptions',
    { ...servedCall, input: run, setHeader: run },
    (own: never) => serveOnGraphql(plain as never, own),
  ],
  ['GraphqlStatusOptions', { scope: () => 'acme', key: run }, (own: never) => statusOnGraphql(plain, own)],
  [
    'RowsOptions',
    { ...servedCall, input: run, atOnceMax: 2, rowsMax: 10 },
    (own: never) => serveRows(plain as never, own),
  ],
  ['ModuleOptions', { samekey, ...route }, (common: never) => onNest(common, {})],
  ['NestRouteOptions', route, (own: never) => onNest({ samekey }, own)],
  ['SamekeyOptions', { store, policy: route.policy, fingerprintSecrets: secrets }, createSamekey],
  [
    'RunRequest',
    { policy: 'standard', operation: 'o', scope: ['a'], key: 'k', fingerprint: 1 },
    (request: never) => samekey.run(request, run),
  ],
  ['OperationRequest', { scope: ['a'], key: 'k2', input: 1 }, (request: never) => plain.run(request)],
  ['DeferredOptions', { pendingTimeMaxMs: 1 }, (own: never) => samekey.deferred(plain, own)],
  ['PlainDefinition', { name: 'p', policy: 'standard', run }, (own: never) => samekey.plain(own)],
  ['PhasedDefinition', { name: 'q', run }, (own: never) => samekey.phased(own)],
  ['TransactionalDefinition', { name: 'r', run }, (own: never) => samekey.transactional(own)],
  ['EffectRule', { rule: 'reconcile', input: 1 }, (rule: never) => checkRule('e', rule, 1_000)],
  ['EffectRule', { rule: 'downstreamKey', retentionMs: 1 }, (rule: never) => checkRule('e', rule, 1_000)],
  [
    'OutboxMessage',
    { topic: 't', headers: byName({ a: 'b' }) },
    (one: never) => newMessage(fakeWorld(), one),
  ],
  ['MemoryStoreOptions', { recordsMax: 1 }, memoryStore],
  ['SqliteStoreOptions', { busyTimeMaxMs: 1, database: { prepare: run, exec: run } }, sqliteStore],
  ['PostgresStoreOptions', { connect: run, schema: 's' }, postgresStore],
  ['DistributedPostgresStoreOptions', { engine: 'other', connect: run }, distributedPostgresStore],
  ['MysqlStoreOptions', { connect: run, database: 'd' }, mysqlStore],
  ['RedisStoreOptions', { client: any, durability: 'none' }, redisStore],
  ['DynamoDbStoreOptions', { client: { putItem: run, query: run }, tableName: 't' }, dynamodbStore],
  ['SqliteMigrationsOptions', { service: 's', from: 0 }, sqliteMigrations],
  ['MysqlMigrationsOptions', { service: 's', auditTransitions: true }, mysqlMigrations],
  ['PostgresMigrationsOptions', { service: 's', schema: 'p' }, postgresMigrations],
  ['DistributedMigrationsOptions', { service: 's', engine: 'other' }, distributedMigrations],
  ['ReapBodiesRequest', { limit: 1 }, createOrphans(any, { list: run } as never, 1, run)],
  ['S3BodiesOptions', { client: { listObjectsV2: run }, bucket: 'b' }, s3Bodies],
  ['TieredStoreOptions', { store, memoryBytesMax: 1, secrets }, tieredStore],
  ['RedisCacheOptions', { client: any, prefix: 'p' }, redisCache],
  ['RedisHintsOptions', { client: any, subscriber: any, channel: 'c' }, redisHints],
  ['OutboxOptions', { store }, createOutbox],
  ['WorkerOptions', { samekey, handlers: byName({ a: run }), backoff: { minMs: 1 } }, createWorker],
  ['JanitorOptions', { store, sweepMs: 1 }, createJanitor],
  [
    'ReconcilerOptions',
    { samekey, operations: byName({ pay: { inquire: run } }), backoff: { minMs: 1 } },
    createReconciler,
  ],
  [
    'CompareOptions',
    { map: run, decimals: { ours: 1 } },
    (options: never) => compareLedgers([], [], options).next(),
  ],
  ['BreakerOptions', { callTimeMaxMs: 1 }, (options: never) => withBreaker(store, { execute: any }, options)],
  ['LimitsOptions', { activeKeys: { store, max: 1 }, per: 'caller' }, createLimits],
  ['TimeSignerOptions', { name: 'a', secret: KEY }, timeSigner],
  ['OperatorOptions', { store, actor: 'a' }, createOperator],
  [
    'CoverageOptions',
    { header: 'K', exempt: [{ path: '/', reason: 'r' }] },
    (options: never) => coverage({ openapi: '3.0.0', paths: {} }, options),
  ],
  ['PageOptions', { title: 'Keys' }, (options: never) => idempotencyPage({ routes: [] }, options)],
  ['KeyRingOptions', secrets, keyRing],
  ['SealedOptions', { sealsNew: false }, (options: never) => sealed(store, keyRing(secrets), options)],
  ['LabelOptions', { scopesMax: 1 }, (options: never) => meterEvents(METER, options)],
  ['LogOptions', { levelMin: 'info' }, (options: never) => logEvents(LOGGER, options)],
  ['TraceOptions', { secret: KEY }, (options: never) => traceEvents({ startSpan: any }, options)],
  ['ObserveOptions', { everyMs: 1_000 }, (options: never) => observe(any, any, store, options)],
  ['IetfOptions', { expiredStatus: 404 }, ietf],
  [
    'RouteOptions',
    route,
    ((options: never) => expressOf(samekey, options)) as Take,
    (options: never) => nodeOf(samekey, options),
    (options: never) => fastifyOf(samekey, options),
  ],
  [
    'FetchOptions',
    { ...route, endsWithAnswer: false },
    (options: never) => fetchOf(samekey as never, options, any),
  ],
  [
    'HonoOptions',
    { ...route, endsWithAnswer: false },
    ((options: never) => honoOf(samekey as never, options)) as Take,
  ],
  ['ServeOptions', { ...served, input: run }, (options: never) => serve(plain as never, options)],
  [
    'StatusOptions',
    { scope: () => 'acme', key: run, dialect: { name: 'own', operation: {}, route: {} } },
    (options: never) => serveStatus(plain, options),
  ],
  ['ClientOptions', { pending: memoryPending(), subject: 'alice', triesMax: 1 }, createClient],
  ['BestPendingOptions', { name: 'shop' }, bestPending],
  [
    'IntentOptions',
    { whenDone: 'same' },
    (own: never) => intentOf(createClient({ pending: memoryPending(), subject: 'alice' }), 'pay', own),
  ],
  [
    'OperationOptions',
    { whenDone: 'same' },
    (own: never) => createClient({ pending: memoryPending(), subject: 'alice' }).operation('pay', own),
  ],
  ...([fromPg, fromPostgresJs, fromMysql2, fromMariadb] as readonly From[]).map(
    (from): Row => ['BeginOptions', { isolation: 'serializable' }, (own: never) => from(any, own)],
  ),
  ...([fromDrizzle, fromKnex, fromTypeorm] as readonly From[]).map(
    (from): Row => ['LibraryOptions', { dialect: 'mysql' }, (own: never) => from(any, own)],
  ),
  ['KyselyOptions', { dialect: 'mysql', pool: null }, (own: never) => fromKysely(any, own)],
  ['PrismaOptions', { connectTimeMaxMs: 1 }, (own: never) => fromPrisma(any, own)],
  [
    'FromDynamodbOptions',
    { callTimeMaxMs: 1 },
    (own: never) => fromDynamodb({ transactWriteItems: any }, own),
  ],
  [
    'VerifyOptions',
    {
      url: 'http://127.0.0.1:9',
      headers: byName({ a: 'b' }),
      hold: { query: byName({ a: 'b' }) },
      failing: { body: '', expect: 'retried' },
      store: { down: run, up: run },
    },
    verify,
  ],
];

/** Interfaces that look like options and are none, or are tried as a part of others. */
const NOT_WALKED: Readonly<Record<string, string>> = {
  AsyncModuleOptions: 'what Nest takes: providers of its own, and a factory of ModuleOptions',
  DirectRequest: 'a part of RunRequest and OperationRequest',
  Definition: 'a part of each definition',
  FreshnessOptions: 'a part of RouteOptions',
  FirstSentOptions: 'a part of RouteOptions',
  ActiveKeysOptions: 'a part of LimitsOptions',
  BackoffOptions: 'a part of WorkerOptions',
  AxiosSettings: 'what axios takes, made by us',
  KySettings: 'what ky takes, made by us',
  GotOptions: 'what got gives us',
  GotSettings: 'what got takes, made by us',
  LetterRequest: 'what an operator is told of the request of a dead letter',
};
/** What a store is asked, by us. */
const OF_STORES =
  /^(?:Forget|Audit|Claim|Erase|Finish|Hand|Reopen|List|PruneAudit|Renew|Settle|Checkpoint|Due|Postpone|TakeUnknown|OperatorList)Request$|^SweepOptions$/;

const LOGGER = { trace: run, debug: run, info: run, warn: run, error: run, fatal: run } as never;
const METER = {
  createCounter: () => ({ add: run }),
  createHistogram: () => ({ record: run }),
  createGauge: () => ({ record: run }),
} as never;

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Each options object of a sample with one member more, and the path that must be named. */
function* misspelt(value: unknown, path = ''): Generator<readonly [path: string, changed: unknown]> {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries())
      for (const [at, changed] of misspelt(one, `${path}[${i}]`)) yield [at, value.with(i, changed)];
    return;
  }
  if (!isPlain(value)) return;
  if (!names.has(value)) {
    const [right = 'option'] = Object.keys(value);
    const wrong = `${right.slice(0, -1)}_`;
    yield [path === '' ? wrong : `${path}.${wrong}`, { ...value, [wrong]: 1 }];
  }
  for (const [name, one] of Object.entries(value)) {
    // A store, a client or an instance is no options object.
    if (NO_OPTIONS.has(name) && path === '') continue;
    for (const [at, changed] of misspelt(one, path === '' ? name : `${path}.${name}`))
      yield [at, Object.assign(names.has(value) ? byName({ ...value }) : { ...value }, { [name]: changed })];
  }
}

const NO_OPTIONS: ReadonlySet<string> = new Set(['client', 'subscriber', 'database', 'samekey', 'pending']);

const OF_CLIENT: ReadonlySet<string> = new Set([
  'ClientOptions',
  'OperationOptions',
  'BestPendingOptions',
  'IntentOptions',
]);

describe('a misspelt option', () => {
  for (const [type, sample, ...takes] of ROWS) {
    for (const [path, changed] of misspelt(sample)) {
      if (path.startsWith('store.') && type !== 'VerifyOptions') continue;
      if (path.startsWith('activeKeys.store.')) continue;
      for (const take of takes) {
        it(`of ${type} is refused: ${path}`, async () => {
          let thrown: unknown;
          try {
            await take(changed as never);
          } catch (error) {
            thrown = error;
          }
          expect(thrown).toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
          // The client has no room for paths in a browser's download; it names the member.
          expect(String(thrown)).toContain(OF_CLIENT.has(type) ? path.split('.').at(-1) : `"${path}"`);
        });
      }
    }
  }

  // F87
  it.each([
    [{ key: { uuidonly: true } }, 'key.uuidonly', 'key.uuidOnly'],
    [{ fingerprint: { header: ['X-Currency'] } }, 'fingerprint.header', 'fingerprint.headers'],
    [
      { fingerprint: { formerly: [{ ommit: ['/a'] }] } },
      'fingerprint.formerly[0].ommit',
      'fingerprint.formerly[0].omit',
    ],
    [{ keyIn: { boddy: '/a' } }, 'keyIn.boddy', 'keyIn.body'],
    [{ retention: 1 }, 'retention', 'retentionMs'],
    [{ waitMaxMS: 1 }, 'waitMaxMS', 'waitMaxMs'],
    [{ uuidOnly: true }, 'uuidOnly', 'key.uuidOnly'],
  ])('is told with the nearest right name: %o', (wrong, path, near) => {
    expect(() =>
      expressOf(samekey as never, { policy: 'standard', scope: () => 'a', ...wrong } as never),
    ).toThrow(`no option "${path}". Did you mean "${near}"?`);
  });

  it('is not told of what it cannot mean', () => {
    expect(() => memoryStore({ colour: 1 } as never)).toThrow(
      'memoryStore has no option "colour". It takes auditTransitions, bytesMax, messagesMax, now, recordsMax.',
    );
  });

  it('is never shown with a value that may be a secret', () => {
    for (const wrong of [
      { key: 'hunter2' },
      { fingerprint: { secrets: { current: 'a', keys: { a: 'hunter2' } } } },
    ]) {
      expect(() =>
        expressOf(samekey as never, { policy: 'standard', scope: () => 'a', ...wrong } as never),
      ).toThrow(expect.not.stringContaining('hunter2') as never);
    }
  });
});

const PACKAGES = ['samekey', 'client', 'cli'].map((name) =>
  join(dirname(fileURLToPath(import.meta.url)), '../../..', name),
);

/** Names of exported interfaces that look like options, by the file that an entry is. */
function exportedOptions(): Map<string, string> {
  const found = new Map<string, string>();
  // `@samekey/testing` is for tests of stores and adapters: not what runs in front of money.
  const entries = PACKAGES.flatMap((folder) =>
    (
      JSON.parse(readFileSync(join(folder, 'entries.json'), 'utf8')) as { name: string; source: string }[]
    ).map(({ name, source }) => ({ name, source: join(folder, source) })),
  );
  for (const { name, source } of entries) {
    const { program } = parseSync(source, readFileSync(source, 'utf8'));
    walk(program, {
      enter(node) {
        const type =
          node.type === 'ExportSpecifier' && node.exported.type === 'Identifier'
            ? node.exported.name
            : node.type === 'TSInterfaceDeclaration'
              ? node.id.name
              : '';
        if (/^[A-Z]\w*(?:Options|Request|Settings)$|Definition$|^EffectRule$|^OutboxMessage$/.test(type))
          found.set(type, name);
      },
    });
  }
  return found;
}

describe('the walk', () => {
  const walked = new Set(ROWS.map(([type]) => type));

  it('tries every exported interface of options', () => {
    const exported = exportedOptions();
    expect(exported.size).toBeGreaterThan(50);
    const left = [...exported].filter(
      ([type]) => !walked.has(type) && NOT_WALKED[type] === undefined && !OF_STORES.test(type),
    );
    expect(left).toEqual([]);
    // What sources of transactions and printers of migrations take is no export of its own.
    const inner = [...walked].filter((type) => !exported.has(type));
    expect(inner.filter((type) => !type.endsWith('MigrationsOptions'))).toEqual([
      'BeginOptions',
      'LibraryOptions',
    ]);
  });
});
