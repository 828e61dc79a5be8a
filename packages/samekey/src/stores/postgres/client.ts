/**
 * The user's PostgreSQL client, seen through structural types only: `Client` and `Pool` of pg, and postgres.js. Each
 * becomes one plain {@link Connection}: statements in, rows as arrays out, errors as the driver threw them.
 *
 * Invariants: rows come as arrays, so that settings which rename columns (postgres.js `transform`) change nothing · a
 * driver that loses its connection while nobody asks must not take the process down (pg emits `error` then) · every
 * value is sent as text or bytes, so that no driver's own idea of arrays, dates or numbers comes between.
 * Sources: https://node-postgres.com/apis/client, https://github.com/porsager/postgres#readme.
 */

import type { SqlTransaction, SqlValue } from '../../store/transaction.ts';

/** Sends one statement; throws `StoreError`. */
export type Ask = (statement: Statement, values: readonly SqlValue[]) => Promise<readonly SqlRow[]>;

export type { SqlValue } from '../../store/transaction.ts';

/** A row, in the order of the statement's columns. */
export type SqlRow = readonly unknown[];

/** A statement; the same text always carries the same name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** What goes with it beyond its values, in this order: told by who sends it, when it is sent. */
  readonly times?: readonly StatementTime[];
}

/**
 * `bound`: what the time is believed to be; `held`: by how much leases are held back. In milliseconds, null for none
 * (`server-time.ts`).
 */
export type StatementTime = 'bound' | 'held';

/** A statement that is asked too seldom to have a name of its own. */
export function plain(text: string): Statement {
  return { name: '', text };
}

/** Rows, and the server process that the protocol named when the connection began. */
interface Answer {
  readonly rows: readonly SqlRow[];
  readonly pid: number | undefined;
}

/** One connection of a driver. */
export interface Connection {
  query(statement: Statement, values: readonly SqlValue[], prepare: boolean): Promise<Answer>;
  close(): Promise<void>;
  /**
   * Listens on a channel; `lost` is called at most once, when this connection listens no longer and will not again.
   * Absent where the driver cannot.
   */
  listen?(channel: string, heard: (payload: string) => void, lost: () => void): Promise<void>;
}

/** `Client` of pg, also one that a pool lent. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
}

/** The form of query that pg takes for prepared statements and rows as arrays. */
export interface PgQuery {
  name?: string;
  text: string;
  values: unknown[];
  rowMode: 'array';
}

/** `Pool` of pg. */
export interface PgPool {
  readonly options: object;
  connect(): Promise<PgPoolClient>;
}

/** A client that a pool of pg lent, or any other of pg: what a user's transaction runs on. */
export interface PgPoolClient {
  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
}

/** What `postgres(…)` of postgres.js returns. */
export interface PostgresJs extends PostgresJsTransaction {
  readonly options?: { readonly fetch_types?: boolean };
  end(options?: { timeout?: number }): Promise<unknown>;
  listen?(channel: string, heard: (payload: string) => void): PromiseLike<unknown>;
}

/** The `sql` that `sql.begin(sql => …)` of postgres.js passes to its function. */
export interface PostgresJsTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: the driver's own types vary with its options
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PostgresJsQuery;
}

interface PostgresJsQuery {
  values(): PromiseLike<unknown>;
}

/**
 * A transaction of the user: a client of pg between BEGIN and COMMIT, the `sql` of `sql.begin`, or one of
 * `samekey/tx/…`.
 */
export type PostgresTransaction = PgPoolClient | PostgresJsTransaction | SqlTransaction;

/** Whether it is one that a transaction source made. */
export function isSqlTransaction(tx: PostgresTransaction | null | undefined): tx is SqlTransaction {
  return (tx as Partial<SqlTransaction> | null | undefined)?.isSqlTransaction === true;
}

/** Whether it is postgres.js. */
export function isPostgresJs(value: unknown): value is PostgresJs {
  return typeof value === 'function' && typeof (value as Partial<PostgresJs>).unsafe === 'function';
}

/** Wraps what `connect` made: a pg client that is not connected yet, or an instance of postgres.js. */
export async function openConnection(made: PgClient | PostgresJs): Promise<Connection> {
  if (isPostgresJs(made)) {
    return {
      query: (statement, values, prepare) => askPostgresJs(made, statement, values, prepare),
      // Whatever is still under way has had its time.
      close: async () => void (await made.end({ timeout: 0 })),
      // On a connection of its own, which the driver opens again by itself.
      ...(typeof made.listen === 'function' && {
        listen: async (channel, heard) => void (await made.listen?.(channel, heard)),
      }),
    };
  }
  // Without a listener the loss of an idle connection is an uncaught exception; the next query meets it anyway.
  made.on('error', () => undefined);
  await made.connect();
  return {
    query: (statement, values, prepare) => askPg(made, statement, values, prepare),
    close: () => made.end(),
    async listen(channel, heard, lost) {
      made.on('notification', (message) => {
        if (message.channel === channel) heard(message.payload ?? '');
      });
      made.on('end', lost);
      await made.query({ text: `LISTEN ${channel}`, values: [], rowMode: 'array' });
    },
  };
}

/** Asks on the client of a user's transaction. */
export function askTransaction(
  tx: PostgresTransaction,
  statement: Statement,
  values: readonly SqlValue[],
  prepare: boolean,
): Promise<Answer> {
  if (isSqlTransaction(tx)) return askSource(tx, statement, values, prepare);
  return 'unsafe' in tx
    ? askPostgresJs(tx, statement, values, prepare)
    : askPg(tx, statement, values, prepare);
}

async function askSource(
  tx: SqlTransaction,
  { name, text }: Statement,
  values: readonly SqlValue[],
  prepare: boolean,
): Promise<Answer> {
  return { rows: await tx.query(text, values, prepare ? name : undefined), pid: undefined };
}

async function askPg(
  client: PgPoolClient,
  { name, text }: Statement,
  values: readonly SqlValue[],
  prepare: boolean,
): Promise<Answer> {
  const query: PgQuery = { text, values: [...values], rowMode: 'array' };
  if (prepare) query.name = name;
  const { rows } = await client.query(query);
  const { processID } = client as { readonly processID?: number | null };
  return { rows: rows as readonly SqlRow[], pid: processID ?? undefined };
}

async function askPostgresJs(
  sql: PostgresJsTransaction,
  { text }: Statement,
  values: readonly SqlValue[],
  prepare: boolean,
): Promise<Answer> {
  const rows = (await sql.unsafe(text, [...values] as never[], { prepare }).values()) as readonly SqlRow[];
  const { state } = rows as { readonly state?: { readonly pid?: number | null } };
  return { rows, pid: state?.pid ?? undefined };
}
