/**
 * Checks at start that the server is PostgreSQL, takes writes, and keeps what it acknowledges; each message names what
 * mends it.
 */

import { SchemaError } from '../../core/errors.ts';
import { engineOf } from './distributed/engines.ts';
import type { Link } from './link.ts';
import { type Ask, plain } from './client.ts';

const OLDEST_SERVER = 150_000;

/**
 * Servers that keep what they acknowledge in a storage of their own, beside which `fsync` and `full_page_writes` say
 * nothing: Neon (which runs with fsync off: https://neon.com/docs/reference/compatibility) and Aurora. Told by a
 * setting, or a function, that only they have.
 */
const OWN_STORAGE = `(current_setting('neon.timeline_id', true) IS NOT NULL OR EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'aurora_version'))::text`;

const SETTINGS = `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
  pg_is_in_recovery()::text, current_setting('transaction_read_only'), current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('transaction_isolation'), ${OWN_STORAGE}, current_setting('array_nulls')`;

/** Throws `SchemaError` for a server that is not fit. */
export async function checkServer(ask: Ask): Promise<void> {
  await checkIsPostgres(ask);
  const row = (await ask(plain(SETTINGS), []))[0] ?? [];
  const [version, encoding, standby, readOnly, fsync, pages, isolation, ownStorage, arrayNulls] =
    row.map(String);
  const isOwnStorage = ownStorage === 'true';
  const faults: readonly (readonly [fault: boolean, message: string])[] = [
    [Number(version) < OLDEST_SERVER, `is version ${version}; 15 is the oldest: upgrade it`],
    [encoding !== 'UTF8', `has the encoding ${encoding}: create the database with ENCODING 'UTF8'`],
    [standby === 'true', 'is a standby or a reader and takes no writes: connect to the primary'],
    [readOnly === 'on', 'is read-only for this role: ALTER ROLE … SET default_transaction_read_only = off'],
    [
      !isOwnStorage && fsync !== 'on',
      'may lose acknowledged records: ALTER SYSTEM SET fsync = on, then reload',
    ],
    [
      !isOwnStorage && pages !== 'on',
      'may damage pages: ALTER SYSTEM SET full_page_writes = on, then reload',
    ],
    [
      arrayNulls !== 'on',
      'takes NULL in an array for a text, so values would be mixed up: ALTER ROLE … SET array_nulls = on',
    ],
    [
      isolation !== 'read committed',
      `runs our statements as ${isolation}: ALTER ROLE … SET default_transaction_isolation = 'read committed'`,
    ],
  ];
  const found = faults.find(([fault]) => fault);
  if (found !== undefined) throw new SchemaError(`The PostgreSQL server ${found[1]}.`);
}

/** Throws `SchemaError` for an engine that speaks PostgreSQL and is not. */
export async function checkIsPostgres(ask: Ask): Promise<void> {
  const said = String((await ask(plain('SELECT version()'), []))[0]?.[0]);
  const foreign = engineOf(said);
  if (foreign !== undefined) {
    throw new SchemaError(
      `The server is ${foreign.title}, which lacks what this store needs: use distributedPostgresStore({ engine: '${foreign.engine}', … }).`,
    );
  }
}

/**
 * Throws `SchemaError` behind a pooler that gives each statement to another session, those of transactions too: nothing
 * of theirs would be held together. PgBouncer in statement mode answers BEGIN with 08P01 and closes the connection, of
 * which a driver may see the latter only.
 */
export async function checkPooler(link: Pick<Link, 'ask' | 'together'>): Promise<void> {
  const transaction = (): Promise<void> =>
    link.together(async (ask) => void (await ask(plain('SELECT 1'), [])));
  try {
    await transaction();
  } catch {
    // If it is the server that is not there, this says so.
    await link.ask(plain('SELECT 1'), []);
    try {
      await transaction();
    } catch {
      throw new SchemaError(
        'Statements are answered and transactions are not, as by a pooler in statement mode: set pool_mode = transaction for this database.',
      );
    }
  }
}
