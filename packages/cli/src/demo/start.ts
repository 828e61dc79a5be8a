/** Puts the demo together: provider, shop, API, server, worker; and takes it apart in the reverse order. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventListener } from 'samekey';
import { startChild } from './children.ts';
import { chargesOf, type IntentCharges } from './intents.ts';
import { explainerPages } from './explainer-pages.ts';
import { listen, type Port } from './listen.ts';
import { makeFolder } from './open-folder.ts';
import { page } from './page.ts';
import type { PaymentSettings } from './pay.ts';
import { paymentsApi } from './payments-api.ts';
import { type ProviderCall, startProvider } from './provider.ts';
import { createRequestLog, type RequestSeen } from './request-log.ts';
import { openShop } from './shop.ts';
import { DEMO_TENANT } from './tenant.ts';
import type { Try } from './tries.ts';
import type { WorkerSettings } from './process-settings.ts';

/** What `startApi` needs to know. */
interface ApiOptions {
  readonly dir: string;
  readonly port: Port;
  readonly providerOrigin: string;
  readonly payment: PaymentSettings;
  readonly onRequest: (seen: RequestSeen) => void;
  readonly onCall: (call: ProviderCall) => void;
  readonly onError: (error: unknown) => void;
  /** What to try at this address. */
  readonly tries: (origin: string) => readonly Try[];
  /** Where the explainer's files are; null: the page at `/` has the things to try alone. */
  readonly explainer: string | null;
}

/** A running API. */
export interface Api {
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
const DRAIN_MS = 10_000;
const CLOSE_MAX_MS = 2_000;
const CLOSE_POLL_MS = 20;

/** Starts the API, with a provider that runs already. Throws `CliError` for what whoever started it can mend. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const log = createRequestLog(options.onRequest);
  const listeners: EventListener[] = [log.onEvent];
  const shop = await openShop({
    ...options,
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
    },
  });
  let origin = '';
  const intents = async (tenant: string): Promise<readonly IntentCharges[]> =>
    chargesOf(shop.ledger.intents(tenant), await shop.provider.ledger());
  const api = paymentsApi({
    ...shop,
    requestLog: log.middleware,
    page: () => page(options.tries(origin)),
    explainer:
      options.explainer === null
        ? null
        : explainerPages({
            folder: options.explainer,
            tries: () => options.tries(origin),
            intents: () => intents(DEMO_TENANT),
            records: (limit) => shop.store.list({ limit }),
          }),
    onError: options.onError,
  });
  // Nothing runs in the background yet, so a port that is taken leaves nothing to be undone but this.
  const listening = await listen(api, options.port).catch((error: unknown) => {
    shop.closeFile();
    throw error;
  });
  origin = listening.origin;
  return {
    origin,
    folder: shop.folder,
    intents,
    listenTo: (listener) => void listeners.push(listener),
    async stop() {
      const closed = once(listening.server, 'close');
      listening.server.close();
      const left = await shop.samekey.close({ drainMs: DRAIN_MS });
      await hangUp(listening.server, closed);
      shop.closeFile();
      return left;
    },
  };
}

/** What `startDemo` needs to know. */
interface DemoOptions extends Omit<ApiOptions, 'providerOrigin' | 'payment'> {
  /** The worker says nothing of its calls. */
  readonly quiet: boolean;
}

/** Starts everything: the provider and the worker as processes of their own. Throws `CliError` as `startApi` does. */
export async function startDemo(options: DemoOptions): Promise<Api> {
  const provider = await startProvider(makeFolder(options.dir));
  const settings = { dir: options.dir, providerOrigin: provider.origin, payment: PAYMENT };
  const api = await startApi({ ...options, ...settings }).catch(async (error: unknown) => {
    await provider.letGo();
    throw error;
  });
  const worker = await startWorker({ ...settings, quiet: options.quiet });
  return {
    ...api,
    async stop() {
      const left = await api.stop();
      await worker.letGo();
      await provider.letGo();
      return left;
    },
  };
}

/** Starts the worker's process. */
export function startWorker(settings: WorkerSettings): ReturnType<typeof startChild> {
  return startChild('./worker-process.js', 'SAMEKEY_WORKER', settings);
}

/** Ends connections that are kept alive, as soon as their answers are out. */
async function hangUp(server: Server, closed: Promise<unknown>): Promise<void> {
  const polling = setInterval(() => server.closeIdleConnections(), CLOSE_POLL_MS);
  await Promise.race([closed, pause(CLOSE_MAX_MS, undefined, { ref: false })]);
  clearInterval(polling);
  server.closeAllConnections();
}
