/**
 * A round of reconciliation on PostgreSQL: payers that are killed and frozen at their calls, a provider that fails, two reconciler
 * processes that are killed and frozen too, and webhooks told twice at one moment.
 *
 * In the end, for each key: one payment at most; completed if and only if it was paid; settled once for each attempt; given up only
 * where nobody can prove that nothing happened; and no question was asked twice under one number.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { reply } from 'samekey';
import { createReconciler } from 'samekey/reconcile';
import { postgresStore } from 'samekey/stores/postgres';
import { createRandom } from '@samekey/testing';
import type { PostgresServer } from '../services/postgres.ts';
import { type Provider, startProvider } from './golden-cluster.ts';
import type { ProviderLedger } from './payment-provider.ts';
import { faultsOf, isAtItsEnd, type Payer } from './reconcile-checks.ts';
import { type Child, startChild } from './reconcile-child.ts';
import { type Fate, PAY_KINDS, type PayKind, TIMES } from './reconcile-protocol.ts';

const KINDS = Object.keys(PAY_KINDS) as readonly PayKind[];
const ROUND_TIME_MAX_MS = 90_000;

/** What a round came to. */
export interface ReconcileRound {
  readonly failures: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs one in a database of its own. */
export async function reconcileRound(
  server: PostgresServer,
  seed: number,
  keys = 16,
): Promise<ReconcileRound> {
  const random = createRandom(seed);
  const databaseUrl = await server.createDatabase();
  const pool = new Pool({ connectionString: databaseUrl, max: 4 });
  pool.on('error', () => undefined);
  const store = postgresStore({ service: 'test', pool });
  await store.migrate();
  const folder = mkdtempSync(join(tmpdir(), 'samekey-reconcile-'));
  const log = join(folder, 'inquiries.ndjson');
  writeFileSync(log, '');
  const provider = await startProvider(join(folder, 'provider.db'));
  await provider.setFaults({ seed, share: 0.5, perKeyMax: 3, chargeLateMs: 500, answerLateMs: 900 });
  const shared = { databaseUrl, providerPort: provider.port, controlPort: provider.controlPort, log };
  const counts: Record<string, number> = {};
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
  const startedAt = performance.now();
  const passedMs = (): number => performance.now() - startedAt;
  const over = new AbortController();

  const payers: Payer[] = Array.from({ length: keys }, (_, i) => ({
    key: `r${seed}-${String(i).padStart(2, '0')}`,
    kind: random.pick(KINDS),
    fate: random.weighted<Fate>({ none: 4, 'die-before': 1, 'die-after': 2, 'freeze-before': 2 }),
    frozen: false,
    answered: null,
  }));
  const running = new Set<Child>();
  const start = async (role: 'payer' | 'reconciler', name: string): Promise<Child> => {
    const child = await startChild({ ...shared, role, name });
    running.add(child);
    void child.ended.then(() => running.delete(child));
    return child;
  };

  /** Asks for its answer until there is one; its fate meets it in a process of its own, and hits nobody else. */
  async function ask(payer: Payer): Promise<void> {
    await sleep(random.between(0, 2_000));
    while (!over.signal.aborted && payer.answered === null) {
      const { fate, key, kind } = payer;
      payer.fate = 'none';
      const child = fate === 'none' ? await steady : await start('payer', `payer of ${key}`);
      if (fate !== 'none') count(fate);
      payer.frozen ||= fate === 'freeze-before';
      const answer = await child.pay({ key, kind, fate }, (frozen) => {
        // It wakes when its claim is over and others have asked, or even later.
        setTimeout(() => frozen.kill('SIGCONT'), random.between(1_500, 8_000));
      });
      if (answer?.kind === 'executed' || answer?.kind === 'replay') payer.answered = answer.value;
      if (fate !== 'none') child.process.kill('SIGKILL');
      await sleep(random.between(200, 1_200));
    }
  }

  /** One place for a reconciler: killed and replaced, or frozen, now and then for longer than its lease. */
  async function reconcile(place: number): Promise<void> {
    let blows = 3;
    for (let n = 1; !over.signal.aborted; n += 1) {
      const child = await start('reconciler', `reconciler ${place}.${n}`);
      while (!over.signal.aborted && child.isUp()) {
        await Promise.race([child.ended, sleep(random.between(300, 2_000))]);
        if (blows === 0 || over.signal.aborted) continue;
        blows -= 1;
        if (random.chance(0.5)) {
          count('reconciler killed');
          child.process.kill('SIGKILL');
          await child.ended;
        } else {
          count('reconciler frozen');
          child.process.kill('SIGSTOP');
          await sleep(random.between(500, TIMES.leaseMs + 1_500));
          child.process.kill('SIGCONT');
        }
      }
    }
  }

  /** Tells of each payment what a provider would, two times at one moment, until it is heard. */
  async function webhooks(): Promise<void> {
    const reconciler = createReconciler({
      store,
      actor: 'webhooks',
      operations: Object.fromEntries(
        KINDS.map((kind) => [kind, { inquire: async () => ({ kind: 'not-known' }) as const }]),
      ),
    });
    const told = new Set<string>();
    while (!over.signal.aborted) {
      await sleep(random.between(300, 1_500));
      const { payments } = await booksOf(provider);
      for (const { id, reference } of payments) {
        const payer = payers.find(({ key }) => key === reference);
        if (payer === undefined || told.has(id) || random.chance(0.7)) continue;
        const { phased } = PAY_KINDS[payer.kind];
        const verdict = phased
          ? ({ kind: 'took-effect', result: id } as const)
          : ({ kind: 'completed', answer: reply(201, { id }) } as const);
        const by = { scope: ['t'], operation: payer.kind, key: payer.key };
        const told2 = await Promise.all(
          [1, 2].map(() => reconciler.tell({ by, verdict, source: 'webhook:test' })),
        );
        for (const { kind } of told2) count(`webhook ${kind}`);
        if (told2.every(({ kind }) => kind !== 'not-yet')) told.add(id);
      }
    }
  }

  async function sweep(): Promise<void> {
    while (!over.signal.aborted) {
      await store.sweep(100);
      await sleep(300);
    }
  }

  const steady = start('payer', 'steady payer');
  const work = [...payers.map(ask), reconcile(1), reconcile(2), webhooks(), sweep()];
  const failures: string[] = [];
  const broken = Promise.all(work).then(
    () => undefined,
    (error: unknown) => void failures.push(`seed ${seed}: the round itself failed: ${String(error)}`),
  );
  while (failures.length === 0 && passedMs() < ROUND_TIME_MAX_MS && !(await isAtItsEnd(store, payers)))
    await sleep(250);
  over.abort();
  const ledger = await booksOf(provider);
  for (const child of running) child.process.kill('SIGKILL');
  await broken;
  for (const child of running) child.process.kill('SIGKILL');
  await Promise.all([...running].map(({ ended }) => ended));
  for (const what of await faultsOf(store, payers, ledger, readFileSync(log, 'utf8'), count))
    failures.push(`seed ${seed}: ${what}`);
  await provider.stop();
  await store.close();
  await pool.end();
  rmSync(folder, { recursive: true, force: true });
  return { failures, counts };
}

/** A kept connection that the provider has just closed fails once; the books are the harness's, and must be had. */
async function booksOf(provider: Provider): Promise<ProviderLedger> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await provider.ledger();
    } catch (error) {
      if (tries === 5) throw error;
      await sleep(100 * tries);
    }
  }
}
