/**
 * What the simulated provider knows, in an SQLite file of its own: charges, and the keys under which they were asked
 * for.
 */

import { randomUUID } from 'node:crypto';
import Database from 'libsql';

/** A charge. */
export interface Charge {
  readonly id: string;
  /** The caller's own name for what is paid. */
  readonly reference: string;
  readonly amountCents: number;
  readonly currency: string;
}

/** How often a reference was charged. */
export interface ReferenceCharges {
  readonly reference: string;
  readonly charges: number;
  readonly totalCents: number;
}

/** The books. */
interface ProviderBooks {
  /** The charge that was asked for under this key, if the key is remembered. */
  remembered(key: string): Charge | undefined;
  /** Charges, and remembers the key with it, in one transaction. */
  charge(key: string, asked: Omit<Charge, 'id'>): Charge;
  forget(key: string): void;
  find(reference: string): Charge | undefined;
  /** Counts a call; returns which it is, from 1. */
  called(): number;
  ledger(): readonly ReferenceCharges[];
  /** Counts what was done to a call. */
  count(fault: string): void;
  /** Calls in all (`call`), and by what was done to them. */
  counts(): Readonly<Record<string, number>>;
  close(): void;
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS charges (
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, reference TEXT NOT NULL, amount_cents INTEGER NOT NULL, currency TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS charges_by_reference ON charges (reference);
  CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, charge_id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS counts (what TEXT PRIMARY KEY, times INTEGER NOT NULL)`;
const COLUMNS = 'id, reference, amount_cents AS amountCents, currency';

/** Opens or creates them. */
export function openProviderBooks(file: string): ProviderBooks {
  const database = new Database(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(TABLES);
  const byKey = database.prepare(
    `SELECT ${COLUMNS} FROM charges WHERE id = (SELECT charge_id FROM keys WHERE key = ?)`,
  );
  const byReference = database.prepare(`SELECT ${COLUMNS} FROM charges WHERE reference = ? LIMIT 1`);
  const insertCharge = database.prepare(
    'INSERT INTO charges (id, reference, amount_cents, currency) VALUES (?, ?, ?, ?)',
  );
  const insertKey = database.prepare('INSERT INTO keys VALUES (?, ?)');
  const deleteKey = database.prepare('DELETE FROM keys WHERE key = ?');
  const count = database.prepare(
    'INSERT INTO counts VALUES (?, 1) ON CONFLICT (what) DO UPDATE SET times = times + 1 RETURNING times',
  );
  const write = database.transaction((key: string, charge: Charge) => {
    insertCharge.run(charge.id, charge.reference, charge.amountCents, charge.currency);
    insertKey.run(key, charge.id);
  });
  return {
    remembered: (key) => plain(byKey.get(key)),
    charge(key, asked) {
      const charge = { id: `ch_${randomUUID().replaceAll('-', '')}`, ...asked };
      write(key, charge);
      return charge;
    },
    forget: (key) => void deleteKey.run(key),
    find: (reference) => plain(byReference.get(reference)),
    called: () => (count.get('call') as { times: number }).times,
    ledger: () =>
      database
        .prepare(
          'SELECT reference, count(*) AS charges, sum(amount_cents) AS totalCents FROM charges GROUP BY 1',
        )
        .all() as ReferenceCharges[],
    count: (fault) => void count.get(fault),
    counts() {
      const rows = database.prepare('SELECT what, times FROM counts').all() as {
        what: string;
        times: number;
      }[];
      return Object.fromEntries(rows.map(({ what, times }) => [what, times]));
    },
    close: () => void database.close(),
  };
}

/** Without what the client adds to its rows. */
function plain(row: unknown): Charge | undefined {
  if (row === undefined) return undefined;
  const { id, reference, amountCents, currency } = row as Charge;
  return { id, reference, amountCents, currency };
}
