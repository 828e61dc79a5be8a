/**
 * Sessions that hold a record beyond its claim (F126). A process that is frozen between its last write and COMMIT holds
 * the row's lock, and neither server bounds one transaction: without this, requests would be answered 503 until
 * `wait_timeout`, which is 8 hours by default. Whoever sweeps reads what that transaction has written and not
 * committed: the number of its session stands there. Then the session is killed, which rolls back, and the record goes
 * its way.
 *
 * Needs no privilege where the store and the application connect as the same user; else CONNECTION_ADMIN (MySQL),
 * CONNECTION ADMIN (MariaDB).
 * Sources: https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html (READ UNCOMMITTED),
 * https://dev.mysql.com/doc/refman/8.4/en/kill.html.
 */

import type { RecordId } from '../../core/record.ts';
import { decoded } from './literals.ts';
import type { Ask } from './client.ts';
import { idCondition } from './conditions.ts';
import type { Seen } from './records.ts';
import type { Tables } from './tables.ts';

/**
 * So long after the end of its claim a record that is still held is taken for held by a process that stands still, in
 * milliseconds.
 */
export const HELD_MAX_MS = 2_000;

/**
 * Ends the sessions that have written these records and not committed; `committed` reads what is committed. What cannot
 * be ended stays as it is, and is met again by the next sweep.
 */
export async function endHolders(
  ask: Ask,
  { records }: Tables,
  ids: readonly RecordId[],
  committed: (ids: readonly RecordId[]) => Promise<Iterable<Seen>>,
): Promise<void> {
  if (ids.length === 0) return;
  // For the next statement only.
  await ask('SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
  const rows = await ask(
    `SELECT r.id, r.state, r.holder FROM ${records} AS r WHERE r.holder IS NOT NULL AND (${ids.map(idCondition).join(' OR ')})`,
  );
  const written = new Map(
    rows.map(([id, state, holder]) => [String(id), { state: String(decoded(state)), holder }]),
  );
  if (written.size === 0) return;
  // Read after it: what is another state there is not committed, so the session that wrote it has not ended.
  for (const { row, record } of await committed(ids)) {
    const other = written.get(row);
    if (other === undefined || other.state === record.state) continue;
    await ask(`KILL ${String(other.holder)}`).catch(() => undefined);
  }
}
