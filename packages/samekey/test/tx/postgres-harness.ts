/**
 * The contract's harness for libraries on PostgreSQL: a database per test, the library behind a proxy that can swallow the answer to
 * COMMIT, the store beside it with connections of its own.
 */

import { once } from 'node:events';
import { Client, type Pool } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TransactionSource } from '../../src/store/transaction.ts';
import {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from '../../src/stores/postgres/index.ts';
import {
  type DistributedPostgresStore,
  distributedPostgresStore,
} from '../../src/stores/postgres/distributed/index.ts';
import {
  txContract,
  type TxBench,
  type TxHarness,
  type TxOpenOptions,
} from '../../../testing/src/tx-contract.ts';
import { kthTxContract } from '../../../testing/src/tx/kth.ts';
import type { BeginOptions } from '../../src/tx/begin.ts';
import { startFaultProxy } from '../services/fault-proxy.ts';
import { postgresWire } from '../services/pg-wire.ts';
import { type PgBouncer, startPgBouncer } from '../services/pgbouncer.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { partOf } from '../stores/slice.ts';

/** A library on one database. */
export interface OpenLibrary<Tx> {
  readonly source: TransactionSource<Tx>;
  query(tx: Tx, text: string): PromiseLike<unknown>;
  insert(tx: Tx, id: string, amount: number): PromiseLike<unknown>;
  /** Default: by SQL. */
  nested?(tx: Tx, body: (inner: Tx) => Promise<void>): Promise<void>;
  close(): Promise<unknown>;
}

/** A library under test. */
export interface Library<Tx> {
  readonly name: string;
  readonly refusesLateUse: boolean;
  /** Default true. */
  readonly straysRunFirst?: boolean;
  /** Whether limits go out with BEGIN once a session is known: then the contract runs on such sessions. */
  readonly opens?: boolean;
  /** As `TxHarness` says. */
  readonly endsWhenLost?: boolean;
  open(url: string, begin: BeginOptions, connectionsMax: number): Promise<OpenLibrary<Tx>>;
}

/** Where the contract runs. */
interface PostgresContractOptions {
  /** On all servers; default on the newest. */
  readonly all?: boolean;
  readonly make?: MakeStore;
  readonly kth?: boolean;
  /** The program of PgBouncer: the library's connections go through it, in transaction mode. */
  readonly pooler?: string;
}

/** Runs the contract on the newest server, or on all of them. */
export function contractOnPostgres<Tx>(
  library: Library<Tx>,
  { all = false, make = ordinary, kth = false, pooler }: PostgresContractOptions = {},
): void {
  const servers = availablePostgres();
  for (const [index, found] of (all ? servers : servers.slice(0, 1)).entries()) {
    describe(found.name, () => {
      let server: PostgresServer | undefined;
      let bouncer: PgBouncer | undefined;
      beforeAll(async () => {
        server = await startPostgres(found);
        if (pooler !== undefined)
          bouncer = await startPgBouncer(pooler, server.url(), { poolSize: POOLED_CONNECTIONS });
      });
      afterAll(async () => {
        await bouncer?.stop();
        await server?.stop();
      });
      // Elsewhere each session is new, and its limits are a statement of their own.
      const warm = index === 0 && library.opens === true;
      const through = (url: string): string => (bouncer === undefined ? url : atPort(url, bouncer.url));
      const opened = harness(library, () => server as PostgresServer, through, make, warm);
      const isFirst = index === 0 && pooler === undefined;
      txContract(partOf(`${library.name}, ${found.name}`, isFirst), opened);
      if (make === ordinary) {
        const reserving = { ...opened, name: `${opened.name}, reserved in the transaction` } as const;
        const part = partOf(`${library.name}, reserved, ${found.name}`, warm || pooler !== undefined);
        txContract(part, { ...reserving, reserve: 'in-transaction' });
      }
      if (kth && index === 0) kthTxContract({ describe, it }, opened);
    });
  }
}

/** Fewer than the clients of the library, so that they share them; enough for what one test holds open at once. */
const POOLED_CONNECTIONS = 6;

/** The same database by way of somebody who listens there. */
function atPort(url: string, listener: string): string {
  const address = new URL(url);
  address.port = new URL(listener).port;
  return address.href;
}

/** Makes a store beside the library. */
export type MakeStore = (url: string, clocks?: Clocks) => PostgresStore | DistributedPostgresStore;

type Clocks = Pick<PostgresStoreOptions, 'clock' | 'now' | 'monotonicNow'>;

function ordinary(url: string, clocks: Clocks = {}): PostgresStore {
  const connect = (): Client => new Client({ connectionString: url });
  return postgresStore({ service: 'test', connect, ...clocks });
}

/** The distributed one. */
export function distributed(url: string, clocks: Clocks = {}): DistributedPostgresStore {
  const connect = (): Client => new Client({ connectionString: url });
  return distributedPostgresStore({ service: 'test', connect, engine: 'other', ...clocks });
}

function harness<Tx>(
  library: Library<Tx>,
  server: () => PostgresServer,
  through: (url: string) => string,
  make: MakeStore,
  warm: boolean,
): TxHarness {
  return {
    name: library.name,
    dialect: 'postgres',
    refusesLateUse: library.refusesLateUse,
    straysRunFirst: library.straysRunFirst ?? true,
    endsWhenLost: library.endsWhenLost ?? false,
    // The engines that it is for agree in no setting that ends with its transaction.
    noticesEnds: make !== distributed,
    open: (options) => open(library, server(), { through, make, warm }, options),
  };
}

/** Read outside of transactions and snapshots, as a clock is. */
const CLOCK = `CREATE SEQUENCE clock_offset_ms MINVALUE 0 START 0;
  CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT clock_timestamp() + (SELECT last_value FROM clock_offset_ms) * interval ''1 millisecond''';
  CREATE TABLE orders (id text PRIMARY KEY, amount int UNIQUE)`;

async function open<Tx>(
  library: Library<Tx>,
  server: PostgresServer,
  {
    through,
    make,
    warm,
  }: { readonly through: (url: string) => string; readonly make: MakeStore; readonly warm: boolean },
  { isolation, connectionsMax = 10 }: TxOpenOptions,
): Promise<TxBench> {
  const url = await server.createDatabase();
  const proxy = await startFaultProxy(through(url), postgresWire);
  const stores: ReturnType<MakeStore>[] = [];
  let elapsedMs = 0;
  const another = async (): Promise<ReturnType<MakeStore>> => {
    const store = make(url, {
      clock: 'test_now()',
      now: () => Date.now() + elapsedMs,
      monotonicNow: () => performance.now() + elapsedMs,
    });
    stores.push(store);
    await store.ready();
    return store;
  };
  await beside(url, CLOCK);
  await make(url).migrate();
  const opened = await library.open(proxy.url, isolation === undefined ? {} : { isolation }, connectionsMax);
  const first = await another();
  if (warm) await warmUp(opened.source, first, connectionsMax);
  return {
    source: opened.source,
    store: first,
    another,
    query: async (tx, text) => opened.query(tx as Tx, text),
    insert: async (tx, id, amount) => opened.insert(tx as Tx, id, amount),
    ...(opened.nested && {
      nested: async (tx, body) => opened.nested?.(tx as Tx, (inner) => body(inner)),
    }),
    beside: (text) => beside(url, text),
    async advance(ms) {
      await beside(url, `SELECT setval('clock_offset_ms', last_value + ${ms}) FROM clock_offset_ms`);
      elapsedMs += ms;
    },
    loseCommitReply: (then) =>
      proxy.arm({
        // Behind the name of the prepared statement, if it has one.
        statement: /(?:^|\s)commit;?$/i,
        what: 'lose-reply',
        leaves: then === 'close' ? 'closed' : 'half-open',
      }),
    async crash() {
      await server.kill();
      await server.restart();
    },
    async close() {
      // First the network, so that nothing waits for an answer that will not come.
      await proxy.close();
      await opened.close();
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

/** Two transactions in each session of the pool: the first finds out about it, the second prepares. */
async function warmUp<Tx>(
  source: TransactionSource<Tx>,
  store: Pick<PostgresStore, 'within'>,
  connectionsMax: number,
): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const gate = new EventTarget();
    let waiting = 0;
    await Promise.all(
      Array.from({ length: connectionsMax }, () =>
        source.run(async (_tx, handle) => {
          await store.within(handle).limit(60_000);
          waiting += 1;
          const all = once(gate, 'all');
          if (waiting === connectionsMax) gate.dispatchEvent(new Event('all'));
          await all;
        }),
      ),
    );
  }
}

/** A session for one text: none outlives a crash. */
async function beside(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result = await client.query(text);
    return Array.isArray(result) ? [] : result.rows;
  } finally {
    await client.end();
  }
}

/** As an application has it: it survives the loss of idle connections. */
export function watched(pool: Pool): Pool {
  pool.on('error', () => undefined);
  return pool;
}
