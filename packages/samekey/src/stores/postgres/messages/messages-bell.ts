/**
 * Wakes workers by LISTEN/NOTIFY, on a connection of its own that is opened again after each loss. A ring is a hint: it
 * may be late, lost, or about nothing, and polling stands behind it. Behind a pooler that hands each statement to
 * another session there is none.
 */

import type { Connection, Statement } from '../client.ts';

/** A bell. */
interface Bell {
  /** Rings in this process too are told. */
  listen(heard: () => void): () => void;
  close(): Promise<void>;
}

const BACKEND_PID: Statement = { name: 'samekey_pid', text: 'SELECT pg_backend_pid()' };
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 10_000;

/** The channel of a schema's messages. */
export function channelOf(schema: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < schema.length; i += 1) hash = Math.imul(hash ^ schema.charCodeAt(i), 0x01000193) >>> 0;
  return `samekey_messages_${hash.toString(16).padStart(8, '0')}`;
}

/** Makes a bell; nothing is opened before somebody listens. */
export function createBell(open: () => Promise<Connection>, channel: string): Bell {
  const listeners = new Set<() => void>();
  let connection: Connection | null = null;
  let state: 'idle' | 'open' | 'refused' | 'closed' = 'idle';
  let backoffMs = BACKOFF_MIN_MS;

  function ring(): void {
    for (const heard of listeners) heard();
  }

  async function connect(): Promise<void> {
    const opened = await open();
    const { rows, pid } = await opened.query(BACKEND_PID, [], false);
    if (pid === undefined || Number(rows[0]?.[0]) !== pid || opened.listen === undefined || isClosed()) {
      await opened.close().catch(() => undefined);
      if (!isClosed()) state = 'refused';
      return;
    }
    connection = opened;
    await opened.listen(channel, ring, () => {
      if (connection === opened) lost();
    });
    backoffMs = BACKOFF_MIN_MS;
    // What rang while nobody listened is lost: look once.
    ring();
  }

  function isClosed(): boolean {
    return state === 'closed';
  }

  function lost(): void {
    connection?.close().catch(() => undefined);
    connection = null;
    if (isClosed()) return;
    const timer = setTimeout(() => {
      if (!isClosed() && connection === null) void connect().catch(lost);
    }, backoffMs);
    timer.unref?.();
    backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2);
  }

  return {
    listen(heard) {
      listeners.add(heard);
      if (state === 'idle') {
        state = 'open';
        void connect().catch(lost);
      }
      return () => void listeners.delete(heard);
    },
    async close() {
      state = 'closed';
      const last = connection;
      connection = null;
      await last?.close().catch(() => undefined);
    },
  };
}
