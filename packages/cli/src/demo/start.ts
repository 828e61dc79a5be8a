/** Puts the demo together: provider, database, store, Samekey, ledger, API, server; and takes it apart in the reverse order. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createSamekey, type EventListener } from 'samekey';
import { sqliteStore } from 'samekey/stores/sqlite';
import { fromSqlite } from 'samekey/tx/sqlite';
import { chargesOf, type IntentCharges } from './intents.ts';
import { openLedger } from './ledger.ts';
import { listen, type Port } from './listen.ts';
import { openFolder } from './open-folder.ts';
import { definePayment, type PaymentSettings } from './pay.ts';
import { paymentsApi } from './payments-api.ts';
import { connectProvider, type ProviderCall, startProvider } from './provider.ts';
import { createRequestLog, type RequestSeen } from './request-log.ts';

/** What `startDemo` needs to know. */
export interface DemoOptions {
  readonly dir: string;
  readonly port: Port;
  readonly onRequest: (seen: RequestSeen) => void;
  readonly onCall: (call: ProviderCall) => void;
  readonly onError: (error: unknown) => void;
  /** The page at `/`, in HTML. */
  readonly page: (origin: string) => string;
  /** A provider that runs already; default: one of the demo's own. */
  readonly providerOrigin?: string;
  readonly payment?: PaymentSettings;
}

/** A running demo. */
export interface Demo {
  readonly origin: string;
  readonly folder: string;
  /** How often each intent of a tenant was charged, by the provider's books. */
  intents(tenant: string): Promise<readonly IntentCharges[]>;
  /** Calls the listener for every event from now on. */
  listenTo(listener: EventListener): void;
  /** Lets running payments end, for up to ten seconds; resolves with how many requests were left. */
  stop(): Promise<number>;
}

/** A killed demo's payments go on some ten seconds after its next start. */
const PAYMENT: PaymentSettings = { claimTtlMs: 10_000, callTimeMaxMs: 5_000 };
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
  const own = options.providerOrigin === undefined ? await startProvider(folder) : null;
  const provider = connectProvider(options.providerOrigin ?? own?.origin ?? '', options.onCall);
  const store = sqliteStore({ database, busyTimeMaxMs: BUSY_TIME_MAX_MS });
  await store.migrate();
  const log = createRequestLog(options.onRequest);
  const listeners: EventListener[] = [log.onEvent];
  const samekey = createSamekey({
    store,
    transactions: fromSqlite(store),
    retentionMs: RETENTION_MS,
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
    },
  });
  await samekey.ready();
  const ledger = openLedger(database);
  let origin = '';
  const api = paymentsApi({
    pay: definePayment(samekey, ledger, provider, options.payment ?? PAYMENT),
    ledger,
    provider,
    requestLog: log.middleware,
    page: () => options.page(origin),
    onError: options.onError,
  });
  // Nothing runs in the background yet, so a port that is taken leaves nothing to be undone but this.
  const listening = await listen(api, options.port).catch(async (error: unknown) => {
    database.close();
    await own?.letGo();
    throw error;
  });
  origin = listening.origin;
  return {
    origin,
    folder,
    intents: async (tenant) => chargesOf(ledger.intents(tenant), await provider.ledger()),
    listenTo: (listener) => void listeners.push(listener),
    async stop() {
      const closed = once(listening.server, 'close');
      listening.server.close();
      const left = await samekey.close({ drainMs: DRAIN_MS });
      await hangUp(listening.server, closed);
      database.close();
      await own?.letGo();
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
