/** For tests of effects: PostgreSQL, and a provider that is a process of its own and keeps its own ledger. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import {
  createSamekey,
  type EffectCall,
  type EffectRule,
  type Operation,
  type PhasedAttempt,
  reply,
  type Samekey,
  type SamekeyEvent,
  type SamekeyOptions,
} from '../../src/index.ts';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { type Provider, startProvider } from '../processes/golden-cluster.ts';
import type { ProviderFault } from '../processes/payment-provider.ts';
import type { PostgresSource } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

/** What one test works with. */
export interface Setup {
  readonly samekey: Samekey<PoolClient>;
  readonly store: PostgresStore;
  readonly pool: Pool;
  /** What attempts ended as, and why. */
  readonly reasons: () => readonly unknown[];
}

/** What is paid for. */
export interface Order {
  readonly reference: string;
}

/** The tools of a file's tests. */
export interface Effects {
  readonly setUp: (options?: Partial<SamekeyOptions<PoolClient>>) => Promise<Setup>;
  readonly provider: () => Provider;
  /** The next calls meet these. */
  readonly fail: (...next: readonly ProviderFault[]) => Promise<void>;
  /** Charges; throws for anything but 201. */
  readonly charge: (
    reference: string,
    call: Pick<EffectCall, 'downstreamKey'> & { readonly signal?: AbortSignal },
  ) => Promise<string>;
  /** How often the provider was called, with how many keys, and what it charged, by its own ledger. */
  readonly billOf: (order: Order) => Promise<{ calls: number; keys: number; payments: number }>;
  /** An operation with the one effect `charge`. */
  readonly pay: (
    samekey: Samekey<PoolClient>,
    rule: EffectRule<string>,
    then?: (attempt: PhasedAttempt<PoolClient>, id: string) => Promise<unknown>,
  ) => Operation<Order, { id: string }>;
}

const DAY_MS = 86_400_000;
/** Long enough for every test. */
export const DOWNSTREAM: EffectRule<string> = { rule: 'downstreamKey', retentionMs: DAY_MS };

let count = 0;

/** A request for an order that nobody paid before. */
export function requestOf(key = 'k'): { scope: string[]; key: string; input: Order } {
  count += 1;
  return { scope: ['t1'], key, input: { reference: `r-${count}` } };
}

/** Call it inside `describe`. */
export function useEffects(source: PostgresSource): Effects {
  const { database } = useServer(source);
  const folder = mkdtempSync(join(tmpdir(), 'samekey-provider-'));
  let provider: Awaited<ReturnType<typeof startProvider>>;
  beforeAll(async () => {
    provider = await startProvider(join(folder, 'provider.db'));
  });
  beforeEach(() => provider.setFaults({}));
  afterAll(async () => {
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const effects: Effects = {
    async setUp(options = {}) {
      const db = await database();
      const pool = db.pool(10);
      await pool.query('CREATE TABLE bookings (id text PRIMARY KEY, charge text)');
      const events: SamekeyEvent[] = [];
      const store = await db.store();
      const samekey = createSamekey({
        store,
        transactions: fromPg<PoolClient>(pool),
        replayCacheBytesMax: 0,
        onEvent: (event) => events.push(event),
        ...options,
      });
      const reasons = (): unknown[] =>
        events.flatMap((event) => (event.type === 'finished' ? [[event.to, event.reason]] : []));
      return { samekey, store, pool, reasons };
    },
    provider: () => provider,
    fail: (...next) => provider.setFaults({ next }),
    async charge(reference, { downstreamKey, signal }) {
      const response = await fetch(`http://127.0.0.1:${provider.port}/payments`, {
        method: 'POST',
        headers: { 'idempotency-key': downstreamKey, connection: 'close' },
        body: JSON.stringify({ kind: 'charge', reference, amount: 5 }),
        ...(signal === undefined ? {} : { signal }),
      });
      if (response.status !== 201) throw new Error(`The provider answered ${response.status}.`);
      return ((await response.json()) as { id: string }).id;
    },
    async billOf({ reference }) {
      const { calls, payments } = await provider.ledger();
      const own = calls.filter((call) => call.reference === reference);
      const paid = payments.filter((payment) => payment.reference === reference);
      return { calls: own.length, keys: new Set(own.map(({ key }) => key)).size, payments: paid.length };
    },
    pay: (samekey, rule, then) =>
      samekey.phased({
        name: 'pay',
        run: async ({ reference }: Order, attempt) => {
          const id = await attempt.effect('charge', (call) => effects.charge(reference, call), {
            callTimeMaxMs: 150,
            ...rule,
          });
          await then?.(attempt, id);
          return reply(201, { id });
        },
      }),
  };
  return effects;
}
