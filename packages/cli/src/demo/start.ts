/** Puts the demo together: database, store, Samekey, ledger, API, server; and takes it apart in the reverse order. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createSamekey, type EventListener } from 'samekey';
import { sqliteStore } from 'samekey/stores/sqlite';
import { type Ledger, openLedger } from './ledger.ts';
import { listen, type Port } from './listen.ts';
import { openFolder } from './open-folder.ts';
import { paymentsApi } from './payments-api.ts';
import { slowProvider } from './provider.ts';
import { createRequestLog, type RequestSeen } from './request-log.ts';

/** What `startDemo` needs to know. */
export interface DemoOptions {
  readonly dir: string;
  readonly port: Port;
  readonly onRequest: (seen: RequestSeen) => void;
  readonly onError: (error: unknown) => void;
  /** The page at `/`, in HTML. */
  readonly page: (origin: string) => string;
}

/** A running demo. */
export interface Demo {
  readonly origin: string;
  readonly folder: string;
  readonly ledger: Ledger;
  /** Calls the listener for every event from now on. */
  listenTo(listener: EventListener): void;
  /** Lets running payments end, for up to ten seconds; resolves with how many requests were left. */
  stop(): Promise<number>;
}

/** A file on a slow disk, under a load of hundreds: each charge is a transaction with an fsync of its own. */
const BUSY_TIME_MAX_MS = 30_000;
/** Keys outlive the lunch break of whoever tries the demo: an intent is charged once as long as its key is remembered. */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
const DRAIN_MS = 10_000;
const CLOSE_MAX_MS = 2_000;
const CLOSE_POLL_MS = 20;

/** Starts the demo. Throws `CliError` for what whoever started it can mend. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const { folder, database } = openFolder(options.dir);
  const store = sqliteStore({ database, busyTimeMaxMs: BUSY_TIME_MAX_MS });
  await store.migrate();
  const log = createRequestLog(options.onRequest);
  const listeners: EventListener[] = [log.onEvent];
  const samekey = createSamekey({
    store,
    retentionMs: RETENTION_MS,
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
    },
  });
  await samekey.ready();
  const ledger = await openLedger(store);
  let origin = '';
  const api = paymentsApi({
    samekey,
    ledger,
    provider: slowProvider(),
    requestLog: log.middleware,
    page: () => options.page(origin),
    onError: options.onError,
  });
  // Nothing runs in the background yet, so a port that is taken leaves nothing to be undone but this.
  const listening = await listen(api, options.port).catch((error: unknown) => {
    database.close();
    throw error;
  });
  origin = listening.origin;
  return {
    origin,
    folder,
    ledger,
    listenTo: (listener) => void listeners.push(listener),
    async stop() {
      const closed = once(listening.server, 'close');
      listening.server.close();
      const left = await samekey.close({ drainMs: DRAIN_MS });
      await hangUp(listening.server, closed);
      database.close();
      return left;
    },
  };
}

/** Ends connections that are kept alive, as soon as their answers are out. */
async function hangUp(server: Server, closed: Promise<unknown>): Promise<void> {
  const polling = setInterval(() => server.closeIdleConnections(), CLOSE_POLL_MS);
  await Promise.race([closed, pause(CLOSE_MAX_MS, undefined, { ref: false })]);
  clearInterval(polling);
  server.closeAllConnections();
}
