/** What the shop's processes have in common: its file, the store in it, its books, its operations. */

import { createSamekey, type EventListener, type Operation, type Samekey } from 'samekey';
import { type SqliteDatabase, type SqliteStore, sqliteStore } from 'samekey/stores/sqlite';
import { fromSqlite } from 'samekey/tx/sqlite';
import { createLedger, type Ledger, openLedger } from './ledger.ts';
import { openFolder } from './open-folder.ts';
import { definePayment, type PaymentInput, type PaymentSettings } from './pay.ts';
import { defineOrder } from './place-order.ts';
import { connectProvider, type Provider, type ProviderCall } from './provider.ts';

/** The shop, opened. */
interface Shop {
  readonly folder: string;
  readonly store: SqliteStore;
  readonly samekey: Samekey<SqliteDatabase>;
  readonly ledger: Ledger;
  readonly provider: Provider;
  readonly pay: Operation<PaymentInput, unknown>;
  readonly order: Operation<PaymentInput, unknown>;
  /** Closes the file, when everything else has ended. */
  closeFile(): void;
}

const STORE_TIME_MAX_MS = 2_000;
/** A file on a slow disk, under a load of hundreds: each charge is some transactions with an fsync each. */
const BUSY_TIME_MAX_MS = 30_000;
/**
 * Keys outlive the lunch break of whoever tries the demo: an intent is charged once as long as its key is remembered.
 */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/** Opens or creates it. Throws `CliError` when the folder cannot be used. */
export async function openShop(options: {
  readonly dir: string;
  readonly providerOrigin: string;
  readonly payment: PaymentSettings;
  readonly onCall: (call: ProviderCall) => void;
  readonly onEvent?: EventListener;
}): Promise<Shop> {
  const { payment, onEvent } = options;
  const { folder, database } = openFolder(options.dir);
  const store = sqliteStore({ service: 'shop', database, busyTimeMaxMs: BUSY_TIME_MAX_MS });
  await store.migrate();
  const samekey = createSamekey({
    store,
    transactions: fromSqlite(store),
    retentionMs: RETENTION_MS,
    // A claim outlasts three calls of the store: one slow renewal loses none.
    storeTimeMaxMs: Math.min(STORE_TIME_MAX_MS, Math.floor(payment.claimTtlMs / 3)),
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  await samekey.ready();
  await createLedger(store);
  const ledger = openLedger(database);
  const provider = connectProvider(options.providerOrigin, options.onCall);
  return {
    folder,
    store,
    samekey,
    ledger,
    provider,
    pay: definePayment(samekey, ledger, provider, payment),
    order: defineOrder(samekey, ledger, payment),
    closeFile: () => void database.close(),
  };
}
