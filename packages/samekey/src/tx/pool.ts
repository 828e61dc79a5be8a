/**
 * Connections that a pool of pg has lent. When the server ends one of them (idle_in_transaction_session_timeout, which
 * bounds our transactions; a restart), its client emits `error`, and an `error` that nobody listens to ends the
 * process. The pool listens to idle clients only: https://node-postgres.com/apis/pool#events.
 */

/** What is used of a client of pg. */
interface LentClient {
  on(event: 'error', listener: () => void): unknown;
}

/** What is used of a `Pool` of pg. */
export interface LendingPool {
  on(event: 'acquire', listener: (client: LentClient) => void): unknown;
}

const known = new WeakSet<object>();

/** From now on, losing a connection of this pool fails its next query and nothing else. */
export function surviveLosses(pool: LendingPool): void {
  if (known.has(pool)) return;
  known.add(pool);
  pool.on('acquire', surviveLoss);
}

/** The same for one client. */
export function surviveLoss(client: LentClient): void {
  if (known.has(client)) return;
  known.add(client);
  client.on('error', () => undefined);
}
