/**
 * Hints by LISTEN/NOTIFY (`store/hint-channel.ts`). NOTIFY is not free (each transaction that uses it takes one lock of
 * the whole server at its commit), so nothing is said unless somebody asked. It is no part of a finish, a claim or a
 * transaction of the user, and goes over a connection of its own.
 *
 * Invariants: a hint decides nothing · nothing throws, nothing is awaited by a request · behind a pooler that hands
 * each statement to another session there are no hints, and waits go by reading alone.
 * Sources: https://www.postgresql.org/docs/current/sql-notify.html, src/backend/commands/async.c (PreCommit_Notify).
 */

import { createHintChannel, shortName } from '../../store/hint-channel.ts';
import type { ChangeHints } from '../../store/store.ts';
import type { Connection, Statement } from './client.ts';

/** Hints of one store. */
interface PostgresHints extends ChangeHints {
  /** Opens the connection, in the background; again after each loss. */
  start(): void;
  /** Whether the channel is being listened to. */
  readonly listening: boolean;
  close(): Promise<void>;
}

/** What hints need. */
interface HintOptions {
  readonly open: () => Promise<Connection>;
  /** Names the channel: stores on other schemas are not disturbed. */
  readonly schema: string;
}

const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 30_000;

const BACKEND_PID: Statement = { name: 'samekey_pid', text: 'SELECT pg_backend_pid()' };
const NOTIFY: Statement = { name: 'samekey_notify', text: 'SELECT pg_notify($1::text, $2::text)' };

/** Makes the hints of a store; nothing is opened before `start`. */
export function createHints({ open, schema }: HintOptions): PostgresHints {
  const channel = `samekey_${shortName(schema)}`;
  let connection: Connection | null = null;
  const hints = createHintChannel(async (payload) => {
    await connection?.query(NOTIFY, [channel, payload], true);
  });
  let state: 'idle' | 'opening' | 'listening' | 'refused' | 'closed' = 'idle';
  let backoffMs = BACKOFF_MIN_MS;

  function start(): void {
    if (state !== 'idle') return;
    state = 'opening';
    void listen().catch(lost);
  }

  async function listen(): Promise<void> {
    const opened = await open();
    const { rows, pid } = await opened.query(BACKEND_PID, [], false);
    const direct = pid !== undefined && Number(rows[0]?.[0]) === pid;
    if (!direct || opened.listen === undefined || isClosed()) {
      await opened.close().catch(() => undefined);
      if (!isClosed()) state = 'refused';
      return;
    }
    connection = opened;
    const heard = (payload: string): void => hints.heard(payload);
    await opened.listen(channel, heard, () => {
      if (connection === opened) lost();
    });
    if (connection !== opened || isClosed()) return;
    state = 'listening';
    backoffMs = BACKOFF_MIN_MS;
    hints.opened();
  }

  function isClosed(): boolean {
    return state === 'closed';
  }

  function lost(): void {
    connection?.close().catch(() => undefined);
    connection = null;
    hints.closed();
    if (isClosed()) return;
    state = 'opening';
    const timer = setTimeout(() => {
      if (state === 'opening') void listen().catch(lost);
    }, backoffMs);
    timer.unref?.();
    backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2);
  }

  return {
    get listening() {
      return state === 'listening';
    },
    start,
    watch(id, changed) {
      start();
      return hints.watch(id, changed);
    },
    changed: (id) => hints.changed(id),
    async close() {
      state = 'closed';
      hints.closed();
      const last = connection;
      connection = null;
      await last?.close().catch(() => undefined);
    },
  };
}
