/** The catalogue: every metric is moved by something, by the same amount in both libraries, and labels stay few. */

import { describe, expect, it } from 'vitest';
import { EVENT_TYPES, type SamekeyEvent } from '../../src/core/events.ts';
import { ALL_METRICS, prometheusName } from '../../src/metrics/index.ts';
import type { ReconcilerSignal, UpkeepSignal } from '../../src/metrics/service-events.ts';
import type { WorkerEvent } from '../../src/worker/index.ts';
import { startMeters, sumOf, valueOf } from './meters.ts';

const id = { scope: 'a4:acme|pay', key: 'k-1' };
const of = { id, operation: 'pay', attempt: 1 };
const message = { id: 'm-1', topic: 'mail', delivery: 1 };
const delivered = { ...message, durationMs: 5, traceparent: null };
const error = new Error('an error');
const outcome = { type: 'outcome', id, operation: 'pay', durationMs: 5, fromCache: false } as const;
const met = { ...outcome, attempt: null, accepted: false, entry: 'run' } as const;
const claimed = { type: 'claimed', ...of, entry: 'run', durationMs: 5 } as const;

/** One of each, and of those that count in several ways, one of each way. */
const ENGINE: readonly SamekeyEvent[] = [
  { type: 'attempt-time-up', ...of },
  { type: 'claim-abandoned', id, operation: 'pay' },
  { type: 'claim-released', id, operation: 'pay' },
  { ...claimed, resumed: null },
  { ...claimed, resumed: { proof: 'declared', reason: null } },
  { type: 'close-left-running', count: 1 },
  { type: 'commit-unclear', ...of, error },
  { type: 'contradiction', ...of, wanted: 'completed', found: 'failed' },
  { type: 'fence-lost', ...of, found: null },
  { type: 'finished', ...of, to: 'completed', proof: null, reason: null, durationMs: 5, claimAgeMs: 9 },
  { type: 'handed-over', ...of },
  { type: 'handler-ended', ...of, ending: 'answered', durationMs: 5 },
  { type: 'handler-error', ...of, error },
  { type: 'limiter-failed', operation: 'pay', error },
  { type: 'misuse', code: 'protected-twice', message: 'it is protected twice' },
  { ...met, kind: 'replay' },
  { ...met, kind: 'in-progress' },
  { ...met, kind: 'mismatch' },
  { ...met, kind: 'unknown' },
  { ...met, kind: 'executed', attempt: 2, entry: 'take' },
  { type: 'record-unreadable', id, operation: 'pay', part: 'response', keyId: 'k1', cause: 'missing-key' },
  { type: 'renewal-failed', count: 1 },
  { type: 'save-abandoned', ...of },
  { type: 'save-delayed', ...of },
  { type: 'save-recovered', ...of },
  { type: 'store-call', verb: 'claim', rows: 2, busy: 1, durationMs: 5, failed: false },
  { type: 'store-error', verb: 'claim', applied: 'no', error },
  { type: 'transaction-not-started', ...of, error },
];
const WORKER: readonly WorkerEvent[] = [
  { type: 'delivered', ...delivered },
  { type: 'delivery-failed', ...delivered, error, proven: false, retryInMs: 10 },
  { type: 'dead-letter', ...delivered, error, record: null },
  { type: 'lease-lost', ...message },
  { type: 'time-up', ...message },
  { type: 'contradiction', ...message, record: id },
  { type: 'store-error', verb: 'take', error },
];
const JANITOR: readonly UpkeepSignal[] = [
  { type: 'swept-record', ...of, from: 'in_progress', to: 'unknown', reason: 'claim-ended', ageMs: 7 },
  { type: 'swept-record', ...of, from: 'pending', to: 'failed', reason: 'never-begun', ageMs: 7 },
  { type: 'reaped', count: 3, durationMs: 5 },
  { type: 'audit-pruned', count: 2 },
  { type: 'janitor-run', verb: 'sweep', count: 2, durationMs: 5 },
  { type: 'store-error', verb: 'sweep', error },
];
const RECONCILER: readonly ReconcilerSignal[] = [
  { type: 'reconcile-scheduled', ...of, inquiries: 1, afterMs: 5 },
  { type: 'reconcile-resolved', ...of, to: 'completed', inquiries: 2, ageMs: 5_000, by: 'inquiry' },
  { type: 'reconcile-failed', ...of, error },
  { type: 'reconcile-given-up', ...of, inquiries: 9 },
  { type: 'contradiction', ...of, wanted: 'completed', found: 'failed' },
  { type: 'store-error', verb: 'settle', error },
];

function tellAll({ metrics }: ReturnType<typeof startMeters>): void {
  for (const event of ENGINE) metrics.samekey(event);
  for (const event of WORKER) metrics.worker(event);
  for (const event of JANITOR) metrics.janitor(event);
  for (const event of RECONCILER) metrics.reconciler(event);
}

/** What looks at a store sets; see observe.test.ts. */
const OBSERVED = new Set([
  'records',
  'unknown.oldest_age.seconds',
  'queue.depth',
  'dead_letters',
  'observed.last_run',
]);

const name = (short: string): string => `api_idempotency_${short}_count_total`;

describe('the catalogue of metrics', () => {
  it('every type of event of an instance is among the samples of this test', () => {
    expect([...new Set(ENGINE.map(({ type }) => type))].toSorted()).toEqual([...EVENT_TYPES].toSorted());
  });

  it('every metric is moved by an event, or set by a look at the store', async () => {
    const meters = startMeters();
    tellAll(meters);
    const exposed = await meters.exposed();
    for (const [metric, { kind }] of ALL_METRICS) {
      if (OBSERVED.has(metric)) continue;
      const series = prometheusName(metric) + (kind === 'histogram' ? '_count' : '');
      expect(sumOf(exposed, series), metric).toBeGreaterThan(0);
    }
  });

  it('keys that were left, rows that were pruned and outcomes that were settled count by what became of them', async () => {
    const meters = startMeters();
    tellAll(meters);
    const exposed = await meters.exposed();
    expect(valueOf(exposed, name('zombie_key'), { to: 'unknown' })).toBe(1);
    expect(sumOf(exposed, name('zombie_key'))).toBe(1);
    expect(sumOf(exposed, name('swept'))).toBe(2);
    expect(sumOf(exposed, name('ttl_pruned'))).toBe(3);
    expect(sumOf(exposed, name('audit_pruned'))).toBe(2);
    expect(sumOf(exposed, name('reconcile_scheduled'))).toBe(1);
    expect(valueOf(exposed, name('reconcile_resolved'), { to: 'completed', by: 'inquiry' })).toBe(1);
    expect(valueOf(exposed, name('reconcile_failed'), { operation: 'pay' })).toBe(1);
    expect(sumOf(exposed, name('reconcile_given_up'))).toBe(1);
    for (const source of ['engine', 'worker', 'reconciler'])
      expect(valueOf(exposed, name('contradiction'), { source }), source).toBe(1);
    const lastRun = valueOf(exposed, 'api_idempotency_janitor_last_run', { verb: 'sweep' });
    expect(Math.abs(lastRun - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('a counter with closed labels is there, at zero, before anything has happened', async () => {
    const exposed = await startMeters().exposed();
    for (const source of ['engine', 'worker', 'reconciler'])
      expect(exposed.get(`api_idempotency_contradiction_count_total{source="${source}"}`)).toBe(0);
    expect(exposed.get('api_idempotency_ttl_pruned_count_total{}')).toBe(0);
  });

  it('labels that others name are bounded: the rest is counted as other', async () => {
    const meters = startMeters({ operationsMax: 3, topicsMax: 2, scopesMax: 2 });
    for (let n = 0; n < 500; n += 1) {
      const many = { scope: `a6:caller${n}|pay`, key: `k-${n}` };
      for (let times = 0; times < 12; times += 1)
        meters.metrics.samekey({ ...met, kind: 'replay', id: many, operation: `operation-${n}` });
      meters.metrics.worker({ type: 'delivered', ...delivered, topic: `topic-${n}` });
    }
    const exposed = await meters.exposed();
    const values = (label: string): Set<string> =>
      new Set(
        [...exposed.keys()].flatMap((series) => new RegExp(`[{,]${label}="([^"]*)"`).exec(series)?.[1] ?? []),
      );
    expect(values('operation').size).toBe(4);
    expect(values('topic').size).toBe(3);
    expect(values('scope').size).toBe(3);
    expect(sumOf(exposed, 'api_idempotency_request_count_total')).toBe(6_000);
    expect(sumOf(exposed, 'api_idempotency_scope_request_count_total')).toBe(6_000);
    expect(exposed.size).toBeLessThan(1_000);
  });

  it('a busy caller gets its series among any number of callers that come once', async () => {
    const meters = startMeters({ scopesMax: 5 });
    for (let n = 0; n < 20_000; n += 1) {
      const caller = n % 20 === 0 ? 'busy' : `once-${n}`;
      meters.metrics.samekey({ ...met, kind: 'mismatch', id: { scope: `${caller}|pay`, key: `k-${n}` } });
    }
    const exposed = await meters.exposed();
    const scopes = [...exposed].filter(([series]) => /scope_request.*misuse/.test(series));
    expect(scopes).toHaveLength(2);
    expect(sumOf(exposed, 'api_idempotency_scope_request_count_total')).toBe(20_000);
  });
});
