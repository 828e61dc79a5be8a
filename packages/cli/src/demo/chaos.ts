/**
 * Chaos: a provider that fails in every way of faults.ts, customers who lose answers or leave, and kill -9 of the shop,
 * its worker and the provider at moments that nobody chose. Then the books are compared: what the customers wanted,
 * what the shop has, what the provider took.
 *
 * The seed gives the sequence of faults and kills and the customers' choices; which payment meets which, the machine's
 * timing decides.
 */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'libsql';
import { type Child, startChild } from './children.ts';
import { drawn } from './faults.ts';
import { chargesOf, type IntentCharges } from './intents.ts';
import { openLedger } from './ledger.ts';
import { createLoad, type Load } from './load.ts';
import type { LoadLedger } from './load-ledger.ts';
import { makeFolder } from './open-folder.ts';
import { connectProvider, type ProviderLedger, startProvider } from './provider.ts';
import { startWorker } from './start.ts';
import { DEMO_TENANT } from './tenant.ts';
import type { ShopSettings } from './process-settings.ts';

/** Chaos to be made. */
interface ChaosOptions {
  readonly dir: string;
  readonly seed: number;
  readonly customers: number;
  /** Calls the provider without an effect, to see what that does. */
  readonly unprotected: boolean;
  readonly signal: AbortSignal;
  /** Told of each kill, and of each return. */
  readonly onKill: (what: string) => void;
  /** The load, as soon as there is one. */
  readonly onLoad: (load: Load) => void;
}

/** What came of it. */
export interface ChaosLedger extends LoadLedger {
  readonly seed: number;
  readonly shopKills: number;
  readonly workerKills: number;
  readonly providerKills: number;
  readonly calls: number;
  /** By name of the fault. */
  readonly providerFaults: Readonly<Record<string, number>>;
  /** Rows in the shop's table. */
  readonly payments: number;
}

/** Short, so that what a killed process held is taken up within seconds; a call must fit into a claim. */
const TIMES = { claimTtlMs: 3_000, callTimeMaxMs: 800 };
const PROVIDER = { faultRate: 0.5, fastestMs: 20, slowestMs: 200, lateMs: 1_500 };
/** From one kill to the next: longer than a claim, which the next process has to see end before it goes on. */
const KILL_FIRST_MS = 1_000;
const KILL_LEAST_MS = 2_500;
const KILL_MOST_MS = 4_500;
const SHOP_SHARE = 0.4;
const WORKER_SHARE = 0.4;
/** Orders of customers who have left are done by then. */
const SETTLE_MAX_MS = 60_000;
const SETTLE_POLL_MS = 100;
/** So slowly that all kills meet some of them. */
const ARRIVAL_MS_PER_HUNDRED = 30_000;
/** A quarter of an hour of refused connections. */
const SENDS_MAX = 5_000;

/** Makes it. Rejects with the signal's reason when aborted. */
export async function runChaos(options: ChaosOptions): Promise<ChaosLedger> {
  const { seed, signal } = options;
  // Chaos begins with empty books; the folder is its own.
  const name = join(makeFolder(options.dir), 'chaos');
  rmSync(name, { recursive: true, force: true });
  const folder = makeFolder(name);
  const kills = { shop: 0, worker: 0, provider: 0 };
  let provider: Child = await startProvider(folder, { ...PROVIDER, seed });
  const providerOrigin = provider.origin;
  const payment = { ...TIMES, unprotected: options.unprotected };
  const openShop = (port: number): Promise<Child> =>
    startChild('./shop-process.js', 'SAMEKEY_SHOP', {
      dir: folder,
      port,
      providerOrigin,
      payment,
    } satisfies ShopSettings);
  let shop = await openShop(0);
  const origin = shop.origin;
  const hire = (): Promise<Child> => startWorker({ dir: folder, providerOrigin, payment, quiet: true });
  let worker = await hire();

  const killsInAll = (): number => kills.shop + kills.worker + kills.provider;

  async function kill(): Promise<void> {
    const whom = drawn(seed, killsInAll(), 'whom');
    if (whom < SHOP_SHARE) {
      kills.shop += 1;
      options.onKill('the shop');
      await shop.kill();
      shop = await openShop(portOf(origin));
    } else if (whom < SHOP_SHARE + WORKER_SHARE) {
      kills.worker += 1;
      options.onKill('the worker');
      await worker.kill();
      worker = await hire();
    } else {
      kills.provider += 1;
      options.onKill('the provider');
      await provider.kill();
      provider = await startProvider(folder, { ...PROVIDER, seed, port: portOf(providerOrigin) });
    }
  }

  const calm = new AbortController();
  const failed = new AbortController();
  async function keepKilling(): Promise<void> {
    for (let waitMs = KILL_FIRST_MS; !calm.signal.aborted; ) {
      await pause(waitMs, undefined, { signal: calm.signal }).catch(() => undefined);
      if (calm.signal.aborted) return;
      await kill();
      waitMs = KILL_LEAST_MS + drawn(seed, killsInAll(), 'when') * (KILL_MOST_MS - KILL_LEAST_MS);
    }
  }

  const books = (): Promise<ProviderLedger> => connectProvider(providerOrigin, () => undefined).ledger();
  let draws = 0;
  const load = createLoad({
    origin,
    customers: options.customers,
    signal: AbortSignal.any([signal, failed.signal]),
    sendsMax: SENDS_MAX,
    withOrders: true,
    arrivalMsPerHundred: ARRIVAL_MS_PER_HUNDRED,
    random: () => drawn(seed, (draws += 1), 'customers'),
    charges: async () => {
      // Nobody is killed any more, so that the books can be read.
      calm.abort();
      await killing;
      for (let waitedMs = 0; ; waitedMs += SETTLE_POLL_MS) {
        const intents = intentsIn(folder, await books());
        if (waitedMs >= SETTLE_MAX_MS || intents.every(({ booked }) => booked)) return intents;
        await pause(SETTLE_POLL_MS, undefined, { signal });
      }
    },
  });
  options.onLoad(load);
  // Without one of its processes there is nothing to wait for.
  const killing = keepKilling().catch((error: unknown) => failed.abort(error));
  try {
    const ledger = await load.run();
    const { charges, counts } = await books();
    const all = intentsIn(folder, { charges });
    return {
      ...ledger,
      faults: [...ledger.faults, ...(options.unprotected ? [] : strayCharges(all, charges))],
      seed,
      shopKills: kills.shop,
      workerKills: kills.worker,
      providerKills: kills.provider,
      calls: counts['call'] ?? 0,
      providerFaults: counts,
      payments: all.reduce((sum, { payments }) => sum + payments, 0),
    };
  } finally {
    calm.abort();
    await killing;
    await shop.letGo();
    await worker.letGo();
    await provider.letGo();
  }
}

/** Read from the shop's file itself, beside the shop. */
function intentsIn(folder: string, provider: Pick<ProviderLedger, 'charges'>): readonly IntentCharges[] {
  const database = new Database(join(folder, 'shop.db'));
  try {
    return chargesOf(openLedger(database).intents(DEMO_TENANT), provider);
  } finally {
    database.close();
  }
}

/**
 * What the provider took without a payment in the shop's table, and payments that the shop does not know to be charged.
 */
function strayCharges(intents: readonly IntentCharges[], charges: ProviderLedger['charges']): string[] {
  const known = intents.reduce((sum, one) => sum + one.charges, 0);
  const taken = charges.reduce((sum, one) => sum + one.charges, 0);
  const unbooked = intents.filter(({ booked }) => !booked).length;
  return [
    ...(taken === known ? [] : [`${taken - known} charges at the provider belong to no payment of the shop`]),
    ...(unbooked === 0 ? [] : [`${unbooked} payments are not booked by the shop`]),
  ];
}

function portOf(origin: string): number {
  return Number(new URL(origin).port);
}
