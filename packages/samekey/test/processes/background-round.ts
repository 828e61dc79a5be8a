/**
 * A round of background work: two APIs, two workers and a reconciler on one store; each meets a fate at some probe point and is replaced; the
 * store is killed and started again; the provider fails; two operators settle whatever nobody knows and have dead letters delivered
 * again; webhooks come twice at one moment; clients ask until they are answered.
 *
 * In the end the books are equal, every act has its row, nothing sticks, and nothing ran twice.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reply, StoreError } from 'samekey';
import { createOperator } from 'samekey/operator';
import { createOutbox } from 'samekey/outbox';
import { createReconciler } from 'samekey/reconcile';
import { createRandom } from '@samekey/testing';
import type { Backend } from './backends/backend.ts';
import { type BackgroundChild, startBackground } from './background-child.ts';
import { ANSWERS, type AppliedAct, type Client, faultsOf, isQuiet } from './background-checks.ts';
import { openBackgroundDatabase } from './background-database.ts';
import { type Fate, OPERATIONS, type Role, TIMES } from './background-protocol.ts';
import { type Provider, startProvider } from './golden-cluster.ts';
import type { ProviderLedger } from './payment-provider.ts';

const ROUND_TIME_MAX_MS = 90_000;
/** Blows end then, so that what is left can come to its end. */
const BLOWS_MS = 6_000;
const PLACES: readonly Role[] = ['api', 'api', 'worker', 'worker', 'reconciler'];

/** What a round came to. */
export interface BackgroundRound {
  readonly failures: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs one in a place of its own. */
export async function backgroundRound(backend: Backend, seed: number, keys = 14): Promise<BackgroundRound> {
  const random = createRandom(seed);
  const place = await backend.createPlace();
  const database = openBackgroundDatabase(place.direct);
  const { store } = database;
  await database.prepare();
  const folder = mkdtempSync(join(tmpdir(), 'samekey-background-'));
  const provider = await startProvider(join(folder, 'provider.db'));
  await provider.setFaults({ seed, share: 0.4, perKeyMax: 2, chargeLateMs: 300, answerLateMs: 600 });
  const counts: Record<string, number> = {};
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
  const startedAt = performance.now();
  const passedMs = (): number => performance.now() - startedAt;
  const isRough = (): boolean => passedMs() < BLOWS_MS;
  const over = new AbortController();
  const failures: string[] = [];
  const clients: Client[] = Array.from({ length: keys }, (_, i) => ({
    key: `b${seed}-${String(i).padStart(2, '0')}`,
    operation: OPERATIONS[i % OPERATIONS.length] as (typeof OPERATIONS)[number],
    amount: i,
    answers: [],
  }));
  const acts: AppliedAct[] = [];
  const contradictions: string[] = [];
  const running = new Set<BackgroundChild>();
  const apis: BackgroundChild[] = [];

  function told(message: { readonly type: string; readonly key?: string }, child: ChildProcess): void {
    if (message.type === 'event') contradictions.push(message.key ?? '');
    // It wakes when its claims and leases are over and others have gone on, or even later.
    if (message.type === 'frozen')
      setTimeout(() => child.kill('SIGCONT'), random.between(500, 2 * TIMES.leaseMs));
  }

  /** A place of a process: whoever dies is replaced; each has a fate while it is rough. */
  async function keep(role: Role, at: number): Promise<void> {
    for (let n = 1; !over.signal.aborted; n += 1) {
      const fate = isRough() && random.chance(0.8) ? fateOf() : null;
      const child = await startBackground(
        {
          role,
          name: `${role} ${at}.${n}`,
          store: place.address,
          providerPort: provider.port,
          controlPort: provider.controlPort,
          fate,
        },
        told,
      );
      if (fate !== null) count(`${role} ${fate.what}`);
      running.add(child);
      if (role === 'api') apis[at] = child;
      await Promise.race([child.ended, aborted(over.signal)]);
      running.delete(child);
      if (over.signal.aborted) child.process.kill('SIGKILL');
      await child.ended;
    }
  }

  function fateOf(): Fate {
    return { what: random.chance(0.5) ? 'die' : 'freeze', atPoint: random.between(1, 60) };
  }

  /** Asks until it has its answer, and then now and then again. */
  async function ask({ key, operation, amount, answers }: Client): Promise<void> {
    await sleep(random.between(0, 1_500));
    while (!over.signal.aborted) {
      const api = random.pick(apis.filter((one) => one?.isUp()));
      const answer = await api?.ask({ operation, key, input: { reference: key, amount } });
      if (answer?.kind === 'replay' || (answer?.kind === 'executed' && answer.state === 'completed')) {
        answers.push(answer.value);
        if (answers.length >= ANSWERS) return;
      }
      await sleep(random.between(150, 900));
    }
  }

  const kindOf = (key: string): string => clients.find((client) => client.key === key)?.operation ?? '';

  /** Looks at what nobody knows, then into the provider's books, and says what it found. */
  async function operate(actor: string): Promise<void> {
    const operator = createOperator({ store, actor });
    const outbox = createOutbox({ store });
    while (!over.signal.aborted) {
      await sleep(random.between(400, 1_500));
      try {
        for (const record of await operator.list({ states: ['unknown'], limit: 20 })) {
          const { key } = record;
          const whole = await operator.find(record);
          const payment = (await booksOf(provider)).payments.find(
            ({ reference, kind }) => reference === key && kind === kindOf(key),
          );
          const reason = 'looked into the books of the provider';
          const act = await operator.settle(
            record,
            payment === undefined
              ? { to: 'retryable', because: 'downstream-key', callTimeMaxMs: TIMES.callTimeMaxMs, reason }
              : (whole?.openEffect ?? null) === null
                ? { to: 'completed', response: responseOf({ id: payment.id }), reason }
                : { to: 'retryable', effectResult: payment.id, reason },
          );
          count(`operator ${act.kind}`);
          if (act.kind === 'applied') acts.push({ actor, key });
        }
        const letters = await outbox.deadLetters({ limit: 20 });
        const ids = await operator.requeue(
          letters.map(({ id }) => id),
          { reason: 'the provider is back' },
        );
        for (const _ of ids) count('requeued');
      } catch (error) {
        // The store was killed: an operator tries again.
        if (!(error instanceof StoreError)) throw error;
        count('operator without store');
      }
    }
  }

  /** Tells of each payment what a provider would, two times at one moment. */
  async function webhooks(): Promise<void> {
    const reconciler = createReconciler({
      store,
      actor: 'webhooks',
      operations: Object.fromEntries(
        OPERATIONS.map((name) => [name, { inquire: async () => ({ kind: 'not-known' }) as const }]),
      ),
    });
    const heard = new Set<string>();
    while (!over.signal.aborted) {
      await sleep(random.between(300, 1_200));
      for (const { id, kind, reference } of (await booksOf(provider)).payments) {
        if (kind === 'book' || heard.has(id) || random.chance(0.7)) continue;
        heard.add(id);
        const verdict = kind.startsWith('pay-')
          ? ({ kind: 'took-effect', result: id } as const)
          : ({ kind: 'completed', answer: reply(201, { id }) } as const);
        const by = { scope: ['t'], operation: kind, key: reference };
        await Promise.all(
          [1, 2].map(async () => {
            try {
              count(`webhook ${(await reconciler.tell({ by, verdict, source: 'webhook:test' })).kind}`);
            } catch {
              count('webhook without store');
            }
          }),
        );
      }
    }
  }

  /** The store itself is killed, once or twice, where it has a server. */
  async function crash(): Promise<void> {
    const { crash: kill } = backend.faults;
    if (kill === undefined) return;
    for (let blows = random.between(0, 2); blows > 0; blows -= 1) {
      await sleep(random.between(500, BLOWS_MS / 2));
      count('store killed');
      await kill(() => random.next());
    }
  }

  const work = [
    ...PLACES.map((role, at) => keep(role, at)),
    ...clients.map(ask),
    operate('ada'),
    operate('ben'),
    webhooks(),
    crash(),
  ];
  const broken = Promise.all(work).catch(
    (error: unknown) => void failures.push(`seed ${seed}: the round itself failed: ${String(error)}`),
  );
  while (failures.length === 0 && passedMs() < ROUND_TIME_MAX_MS) {
    await sleep(200);
    if (!isRough() && (await isQuiet(database, clients).catch(() => false))) break;
  }
  over.abort();
  for (const child of running) child.process.kill('SIGKILL');
  await broken;
  const ledger = await booksOf(provider);
  for (const what of await faultsOf(database, clients, ledger, { acts, contradictions }))
    failures.push(`seed ${seed}: ${what}`);
  for (const _ of contradictions) count('contradiction');
  count('rounds');
  await provider.stop();
  await database.close();
  await place.remove();
  rmSync(folder, { recursive: true, force: true });
  return { failures, counts };
}

function responseOf(value: unknown): {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
} {
  return {
    status: 201,
    headers: [['content-type', 'application/json']],
    body: new TextEncoder().encode(JSON.stringify(value)),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
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
