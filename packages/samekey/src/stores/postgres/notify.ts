/**
 * Hints by LISTEN/NOTIFY: a process that waits for a key is told that the record changed, so that it reads now and not with its
 * next look. NOTIFY is not free (each transaction that uses it takes one lock of the whole server at its commit), so nothing is
 * said unless somebody asked: who waits says so once, on the same channel, and the process that finishes remembers. Neither
 * is part of a finish, a claim or a transaction of the user; both go over a connection of their own.
 *
 * Invariants: a hint decides nothing, so everything here may be lost · nothing throws, nothing is awaited by a request · on the
 * channel stand 32 bits of each key: enough to find who waits, too few to tell a key · bounded memory and payloads · behind a
 * pooler that hands each statement to another session there are no hints, and waits go by reading alone.
 * Sources: https://www.postgresql.org/docs/current/sql-notify.html, src/backend/commands/async.c (PreCommit_Notify).
 */

import { idText, type RecordId } from '../../core/record.ts';
import type { ChangeHints } from '../../core/store.ts';
import type { Connection, Statement } from './postgres-client.ts';

/** Hints of one store. */
export interface PostgresHints extends ChangeHints {
  /** Opens the connection, in the background; again after each loss. */
  start(): void;
  /** Whether the channel is being listened to. */
  readonly listening: boolean;
  close(): Promise<void>;
}

/** What hints need. */
export interface HintOptions {
  readonly open: () => Promise<Connection>;
  /** Names the channel: stores on other schemas are not disturbed. */
  readonly schema: string;
}

/** A payload must be shorter than 8,000 bytes; a name takes nine. */
const NAMES_MAX = 800;
/** Keys of others that are remembered; the oldest is forgotten, and who waits for it reads. */
const ASKED_MAX = 10_000;
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 30_000;

const WAITS = 'w';
const CHANGED = 'c';

const BACKEND_PID: Statement = { name: 'samekey_pid', text: 'SELECT pg_backend_pid()' };
const NOTIFY: Statement = { name: 'samekey_notify', text: 'SELECT pg_notify($1::text, $2::text)' };

/** Makes the hints of a store; nothing is opened before `start`. */
export function createHints({ open, schema }: HintOptions): PostgresHints {
  const channel = `samekey_${shortName(schema)}`;
  const watched = new Map<string, Set<() => void>>();
  const asked = new Set<string>();
  const unsaid = { [WAITS]: new Set<string>(), [CHANGED]: new Set<string>() };
  let connection: Connection | null = null;
  let state: 'idle' | 'opening' | 'listening' | 'refused' | 'closed' = 'idle';
  let backoffMs = BACKOFF_MIN_MS;
  let saying = false;

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
    await opened.listen(channel, heard, () => {
      if (connection === opened) lost();
    });
    if (connection !== opened || isClosed()) return;
    state = 'listening';
    backoffMs = BACKOFF_MIN_MS;
    // What was said while nobody listened is lost: ask again, and let everybody look once.
    for (const [name, listeners] of watched) {
      say(WAITS, name);
      for (const changed of listeners) changed();
    }
  }

  function isClosed(): boolean {
    return state === 'closed';
  }

  function lost(): void {
    connection?.close().catch(() => undefined);
    connection = null;
    if (isClosed()) return;
    state = 'opening';
    const timer = setTimeout(() => {
      if (state === 'opening') void listen().catch(lost);
    }, backoffMs);
    timer.unref?.();
    backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2);
  }

  function heard(payload: string): void {
    const [kind, ...names] = payload.split(',');
    for (const name of names) {
      if (kind === WAITS) remember(name);
      else {
        asked.delete(name);
        for (const changed of watched.get(name) ?? []) changed();
      }
    }
  }

  function remember(name: string): void {
    asked.delete(name);
    asked.add(name);
    const [oldest] = asked;
    if (asked.size > ASKED_MAX && oldest !== undefined) asked.delete(oldest);
  }

  function say(kind: typeof WAITS | typeof CHANGED, name: string): void {
    if (state !== 'listening') return;
    unsaid[kind].add(name);
    // With the turn's end, so that what changed together is told together.
    if (!saying) {
      saying = true;
      queueMicrotask(() => void sayAll());
    }
  }

  /** One after the other: while one is under way the next gathers. */
  async function sayAll(): Promise<void> {
    for (;;) {
      const kind = unsaid[CHANGED].size > 0 ? CHANGED : WAITS;
      const names = [...unsaid[kind]].slice(0, NAMES_MAX);
      if (names.length === 0 || connection === null) {
        saying = false;
        return;
      }
      for (const name of names) unsaid[kind].delete(name);
      try {
        await connection.query(NOTIFY, [channel, [kind, ...names].join(',')], true);
      } catch {
        // Who waits reads all the same; a lost connection is noticed by its own event.
      }
    }
  }

  return {
    get listening() {
      return state === 'listening';
    },
    start,
    watch(id, changed) {
      start();
      const name = shortName(idText(id));
      const listeners = watched.get(name) ?? new Set();
      watched.set(name, listeners.add(changed));
      say(WAITS, name);
      return () => {
        listeners.delete(changed);
        if (listeners.size === 0 && watched.get(name) === listeners) watched.delete(name);
      };
    },
    changed(id: RecordId) {
      if (asked.size === 0) return;
      const name = shortName(idText(id));
      if (asked.has(name)) say(CHANGED, name);
    },
    async close() {
      state = 'closed';
      const last = connection;
      connection = null;
      await last?.close().catch(() => undefined);
    },
  };
}

/** FNV-1a, 32 bits. Two keys that share a name cost a read in vain. */
function shortName(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
