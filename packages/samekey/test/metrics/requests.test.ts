/** Real requests of every outcome, against the counters: metric by metric, by OpenTelemetry and by prom-client alike. */

import type { Delivery } from '../../src/worker/index.ts';
import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { createSamekey } from '../../src/samekey.ts';
import { createReconciler } from '../../src/reconcile/index.ts';
import type { WorkerEvent } from '../../src/worker/index.ts';
import { type Exposed, startMeters, sumOf, valueOf } from './meters.ts';
import { openShop, SECRET_CALLER, SECRET_KEY } from './shop.ts';

const reserve = (exposed: Exposed, kind: string): number =>
  sumOf(exposed, `api_idempotency_reserve_${kind}_count_total`);

const name = (what: string): string => `api_idempotency_reconcile_${what}_count_total`;

async function open(options?: Parameters<typeof startMeters>[0]) {
  const meters = startMeters(options);
  const heard: (SamekeyEvent | WorkerEvent)[] = [];
  const waiting = new Set<() => void>();
  const told = (event: SamekeyEvent | WorkerEvent): void => {
    heard.push(event);
    for (const look of waiting) look();
  };
  const shop = await openShop(
    (event) => {
      meters.metrics.samekey(event);
      told(event);
    },
    (event) => {
      meters.metrics.worker(event);
      told(event);
    },
  );
  /** Resolves when so many events of a type have been told. */
  const until = (type: string, count = 1): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (heard.filter((event) => event.type === type).length < count) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { ...meters, shop, until };
}

describe('metrics of real requests', () => {
  it('each reservation counts once, by what it met', async () => {
    const { shop, exposed } = await open();
    for (const n of [1, 2, 3]) expect((await shop.send('/pay', `new-${n}`, { n })).status).toBe(201);
    expect(reserve(await exposed(), 'created')).toBe(3);

    // From the store in both processes, then from the memory of what the first has read.
    await shop.send('/pay', 'new-1', { n: 1 });
    await shop.send('/pay', 'new-1', { n: 1 }, 1);
    await shop.send('/pay', 'new-1', { n: 1 });
    const replays = await exposed();
    const replay = 'api_idempotency_reserve_replay_count_total';
    expect(valueOf(replays, replay, { operation: 'POST /pay', memory: 'true' })).toBe(1);
    expect(valueOf(replays, replay, { operation: 'POST /pay', memory: 'false' })).toBe(2);

    expect((await shop.send('/pay', 'new-2', { n: 'other' }, 1)).status).toBe(422);
    expect((await shop.send('/pay', 'new-2', { n: 'another' })).status).toBe(422);
    expect(reserve(await exposed(), 'key_misuse')).toBe(2);

    // Proven without effect: its retry runs again.
    expect((await shop.send('/pay', 'refused', { ends: 'throws' })).status).toBe(500);
    expect((await shop.send('/pay', 'refused', { ends: 'throws' })).status).toBe(500);
    expect(reserve(await exposed(), 'failed_retry')).toBe(1);

    expect((await shop.send('/pay', 'lost', { ends: 'unknown' })).status).toBe(500);
    expect(reserve(await exposed(), 'unknown')).toBe(0);
    expect((await shop.send('/pay', 'lost', { ends: 'unknown' })).status).toBe(409);
    expect(reserve(await exposed(), 'unknown')).toBe(1);

    const first = shop.send('/slow', 'slow', {});
    await shop.running();
    expect((await shop.send('/slow', 'slow', {})).status).toBe(409);
    expect((await shop.send('/slow', 'slow', {}, 1)).status).toBe(409);
    shop.release();
    expect((await first).status).toBe(201);
    expect(reserve(await exposed(), 'in_progress')).toBe(2);

    // Without a key nothing is reserved, but it was a request.
    expect((await shop.send('/pay', null, {})).status).toBe(400);
    const all = await exposed();
    const requests = 'api_idempotency_request_count_total';
    expect(valueOf(all, requests, { operation: 'POST /pay', outcome: 'key-missing' })).toBe(1);
    expect(valueOf(all, requests, { operation: 'POST /pay', outcome: 'executed' })).toBe(6);
    expect(sumOf(all, requests)).toBe(3 + 3 + 2 + 2 + 2 + 3 + 1);
    const reserved = ['created', 'replay', 'key_misuse', 'failed_retry', 'unknown', 'in_progress'];
    // All but the one without a key.
    expect(reserved.map((kind) => reserve(all, kind)).reduce((sum, one) => sum + one)).toBe(15);
  });

  it('durations and ends are measured for each attempt', async () => {
    const { shop, exposed } = await open();
    await shop.send('/pay', 'one', {});
    await shop.send('/pay', 'two', { ends: 'throws' });
    const all = await exposed();
    const operation = 'POST /pay';
    for (const what of ['reserve_duration', 'handler_duration', 'finish_duration', 'claim_age'])
      expect(valueOf(all, `api_idempotency_${what}_seconds_count`, { operation }), what).toBe(2);
    expect(
      valueOf(all, 'api_idempotency_request_duration_seconds_count', { operation, outcome: 'executed' }),
    ).toBe(2);
    const ends = 'api_idempotency_finished_count_total';
    expect(valueOf(all, ends, { operation, to: 'completed' })).toBe(1);
    expect(valueOf(all, ends, { operation, to: 'retryable' })).toBe(1);
    for (const verb of ['claim', 'finish'])
      expect(valueOf(all, 'api_idempotency_store_call_duration_seconds_count', { verb }), verb).toBe(2);
  });

  it('a store that refuses, or whose rows are locked, shows', async () => {
    const { shop, exposed } = await open();
    shop.faults.inject('refuse', { verb: 'claim' });
    expect((await shop.send('/pay', 'refused-by-store', {})).status).toBe(503);
    shop.faults.inject('busy', { verb: 'claim', times: 2 });
    expect((await shop.send('/pay', 'locked', {})).status).toBe(201);
    const all = await exposed();
    expect(valueOf(all, 'api_idempotency_store_error_count_total', { source: 'engine', verb: 'claim' })).toBe(
      1,
    );
    expect(valueOf(all, 'api_idempotency_store_busy_count_total', { verb: 'claim' })).toBe(2);
  });

  it('a handler that hangs is counted when its time is up', async () => {
    const { shop, exposed, until } = await open();
    const hung = shop.send('/hung', 'hung', {});
    await until('attempt-time-up');
    expect((await hung).status).toBe(409);
    const operation = 'POST /hung';
    expect(valueOf(await exposed(), 'api_idempotency_attempt_time_up_count_total', { operation })).toBe(1);
    shop.release();
  });

  it('a deferred request counts as created once, and what the worker does for it as pushed', async () => {
    const { shop, exposed, until } = await open();
    expect((await shop.send('/report', 'later', { month: 1 })).status).toBe(202);
    expect((await shop.send('/report', 'later', { month: 1 })).status).toBe(202);
    const before = await exposed();
    expect(reserve(before, 'created')).toBe(1);
    expect(reserve(before, 'in_progress')).toBe(1);
    // A handler that throws is one that Samekey runs: with Express, its own error handler answers.
    expect((await shop.send('/report', 'never', { month: 13 })).status).toBe(202);
    shop.worker({}).start();
    await until('pushed', 2);
    const after = await exposed();
    const operation = 'report';
    const pushed = 'api_idempotency_pushed_count_total';
    expect(valueOf(after, pushed, { operation, outcome: 'executed' })).toBe(2);
    expect(valueOf(after, 'api_idempotency_handler_error_count_total', { operation })).toBe(1);
    expect(reserve(after, 'created')).toBe(2);
    expect(reserve(after, 'failed_retry')).toBe(0);
    expect(sumOf(after, 'api_idempotency_request_count_total')).toBe(3);
  });

  it('deliveries are counted by how they ended', async () => {
    const { shop, exposed, until } = await open();
    await shop.outbox.enqueueAlone({ topic: 'mail', payload: {} });
    await shop.outbox.enqueueAlone({ topic: 'flaky', payload: {} });
    await shop.outbox.enqueueAlone({ topic: 'doomed', payload: {} });
    const handlers = {
      mail: () => undefined,
      flaky(_message: unknown, { number }: { readonly number: number }) {
        if (number === 1) throw new Error('not now');
      },
      doomed(_message: unknown, delivery: Delivery) {
        delivery.giveUp();
        throw new Error('never');
      },
    };
    shop.worker({ handlers }).start();
    await until('delivered', 2);
    await until('dead-letter');
    const all = await exposed();
    const deliveries = 'api_idempotency_delivery_count_total';
    expect(valueOf(all, deliveries, { topic: 'mail', end: 'delivered' })).toBe(1);
    expect(valueOf(all, deliveries, { topic: 'flaky', end: 'failed' })).toBe(1);
    expect(valueOf(all, deliveries, { topic: 'flaky', end: 'delivered' })).toBe(1);
    expect(valueOf(all, deliveries, { topic: 'doomed', end: 'dead' })).toBe(1);
    expect(valueOf(all, 'api_idempotency_delivery_duration_seconds_count', { topic: 'flaky' })).toBe(2);
  });

  it('a key whose process died is counted when the sweeper ends its claim, and the sweeps are seen', async () => {
    const { shop, exposed, until } = await open();
    const owner = createSamekey({ store: shop.store, policy: 'payments' });
    await new Promise<void>((running) => {
      const work = { operation: 'pay', scope: ['acme'], key: 'left', fingerprint: 1, claimTtlMs: 300 };
      void owner.run(work, () => {
        running();
        return new Promise<never>(() => undefined);
      });
    });
    await owner.close({ drainMs: 0 });
    shop.worker({ sweepMs: 50 }).start();
    await until('swept-record');
    const all = await exposed();
    expect(valueOf(all, 'api_idempotency_zombie_key_count_total', { to: 'unknown' })).toBe(1);
    expect(valueOf(all, 'api_idempotency_swept_count_total', { from: 'in_progress', to: 'unknown' })).toBe(1);
    expect(valueOf(all, 'api_idempotency_janitor_last_run', { verb: 'sweep' })).toBeGreaterThan(0);
  });

  it('what a reconciler asks, learns and gives up is counted', async () => {
    const { shop, exposed, metrics } = await open();
    for (const key of ['settled', 'hopeless'])
      expect((await shop.send('/pay', key, { ends: 'unknown' })).status).toBe(500);
    const answers = {
      settled: ['throws', 'not-known', 'completed'],
      hopeless: ['not-known', 'not-known', 'not-known'],
    };
    const reconciler = createReconciler({
      store: shop.store,
      backoff: { minMs: 1, maxMs: 1 },
      inquiriesMax: 3,
      onEvent: metrics.reconciler,
      operations: {
        'POST /pay': {
          async inquire({ key }) {
            const answer = answers[key as keyof typeof answers].shift();
            if (answer === 'throws') throw new Error('the provider is away');
            return answer === 'completed' ? { kind: 'completed', answer: {} } : { kind: 'not-known' };
          },
        },
      },
    });
    // By the store's clock a question is due a millisecond after the one before.
    while (Object.values(answers).some((left) => left.length > 0)) await reconciler.run();
    const all = await exposed();
    expect(valueOf(all, name('failed'), { operation: 'POST /pay' })).toBe(1);
    expect(valueOf(all, name('resolved'), { to: 'completed', by: 'inquiry' })).toBe(1);
    expect(sumOf(all, name('scheduled'))).toBeGreaterThanOrEqual(3);
    expect(sumOf(all, name('given_up'))).toBe(1);
    expect(sumOf(all, 'api_idempotency_reconcile_age_seconds_count')).toBe(1);
  });

  it('no key and no caller is exposed, only the hash of a busy caller', async () => {
    const { shop, exposed, texts } = await open({ scopesMax: 1 });
    for (let n = 0; n < 12; n += 1) await shop.send('/pay', `${SECRET_KEY}-${n}`, { n });
    await shop.send('/pay', `${SECRET_KEY}-1`, { n: 1 });
    await shop.send('/pay', `${SECRET_KEY}-1`, { n: 2 });
    const { otel, prom } = await texts();
    for (const text of [otel, prom]) {
      expect(text).toContain('api_idempotency_scope_request_count_total');
      expect(text).not.toContain(SECRET_KEY);
      expect(text).not.toContain(SECRET_CALLER);
    }
    const all = await exposed();
    const scopes = [...all.keys()].filter((series) =>
      series.startsWith('api_idempotency_scope_request_count'),
    );
    const results = (result: string) =>
      scopes.filter((series) => series.includes(`result="${result}"`) && !series.includes('scope="other"'));
    for (const [result, count] of [
      ['created', 2],
      ['duplicate', 1],
      ['misuse', 1],
    ] as const)
      expect(
        results(result).map((series) => all.get(series)),
        result,
      ).toEqual([count]);
    expect(
      valueOf(all, 'api_idempotency_scope_request_count_total', { scope: 'other', result: 'created' }),
    ).toBe(10);
  });
});
